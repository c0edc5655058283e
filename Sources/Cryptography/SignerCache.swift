import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL

/// A verified chain that ends in a pinned root, known by the bytes of its certificates. A signature with a cached chain
/// costs its own verification and no certificate work, also if it is invalid.
///
/// The caches are bounded. Only such chains are inserted, so clients cannot fill them with chains of their own.
/// Variants of a genuine chain are few: an ECDSA signature `(r, s)` has one other valid encoding, `(r, n − s)`, so a
/// leaf and its intermediate make at most four entries. Searches are linear: there are a dozen entries in practice,
/// which differ in their first bytes, so comparing is quicker than hashing.
struct CachedChain: Sendable {
    let role: SignerRole
    let leaf: [UInt8]
    /// The intermediate certificate; `nil` if it is a known one that did not come with the receipt.
    let authority: [UInt8]?
    /// The pinned root of a complete chain, also if another certificate of its key was presented.
    var root: Certificate?
    let signer: VerifiedSigner

    /// It matches only if every byte is equal.
    fileprivate func matches(
        _ presented: PresentedSigner, role: SignerRole, in bytes: borrowing Span<UInt8>
    ) -> Bool {
        guard role == self.role, bytes.holds(leaf, at: presented.leaf) else { return false }
        guard let authority else { return true }
        for range in presented.authorities where bytes.holds(authority, at: range) { return true }
        return false
    }
}

extension FIFOCache<CachedChain> {
    /// Returns the signer of a receipt with these certificates, if its chain was valid at that time.
    func signer(
        for presented: PresentedSigner, role: SignerRole, time: TrustStore.SigningTime, in bytes: borrowing Span<UInt8>
    ) -> VerifiedSigner? {
        for chain in entries
        where time.falls(in: chain.signer.window) && chain.matches(presented, role: role, in: bytes) {
            return chain.signer
        }
        return nil
    }

    /// Returns the signer of exactly this leaf and intermediate below this pinned root.
    func signer(
        of presented: PresentedChain, below root: Certificate, role: SignerRole, in bytes: borrowing Span<UInt8>
    ) -> VerifiedSigner? {
        for chain in entries
        where role == chain.role && root === chain.root && bytes.holds(chain.leaf, at: presented.leaf)
            && bytes.holds(chain.authority ?? [], at: presented.authority)
        {
            return chain.signer
        }
        return nil
    }

    func insert(_ chain: CachedChain) {
        insert(chain) {
            $0.role == chain.role && $0.leaf == chain.leaf && $0.authority == chain.authority && $0.root === chain.root
                && $0.signer.window == chain.signer.window
        }
    }
}

/// The byte ranges of the certificates that came with a signature.
package struct PresentedSigner: Sendable {
    /// Maximum number of intermediates that are tried. Genuine receipts bring one.
    private static let maximumAuthorities = 4

    /// Range of the signer's certificate, DER.
    package let leaf: Range<Int>
    /// Ranges of the certificates whose subject is the leaf's issuer, DER. Only the first four are used.
    package let authorities: [Range<Int>]

    package init(leaf: Range<Int>, authorities: [Range<Int>]) {
        self.leaf = leaf
        let maximum = Self.maximumAuthorities
        self.authorities = authorities.count > maximum ? Array(authorities.prefix(maximum)) : authorities
    }

    /// The first certificate of a list, with those of the others that can have issued it.
    package init(first certificates: [Range<Int>], in bytes: borrowing Span<UInt8>) {
        var authorities: [Range<Int>] = []
        if let first = certificates.first, let leaf = CertificateSummary(at: first, in: bytes) {
            for range in certificates.dropFirst() {
                guard let other = CertificateSummary(at: range, in: bytes) else { continue }
                if bytes.equal(other.subject, leaf.issuer) { authorities.append(range) }
            }
        }
        self.init(leaf: certificates.first ?? 0..<0, authorities: authorities)
    }
}

extension Span<UInt8> {
    /// Returns whether the bytes in the range equal the expected ones; `false` if the range exceeds the span.
    package func holds(_ expected: [UInt8], at range: Range<Int>) -> Bool {
        guard range.count == expected.count, range.upperBound <= count else { return false }
        return withUnsafeBufferPointer { buffer in
            expected.withUnsafeBufferPointer { expected in
                guard let left = buffer.baseAddress, let right = expected.baseAddress else { return true }
                return memcmp(left + range.lowerBound, right, expected.count) == 0
            }
        }
    }
}
