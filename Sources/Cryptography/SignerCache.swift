import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL

/// A cache of verified signers of receipts, keyed by the bytes of their certificates. A receipt with a cached signer
/// costs one signature verification and no certificate work.
///
/// The cache is bounded and evicts the oldest entry first. Only chains that end in a pinned root are inserted, one
/// entry for each pair of leaf and intermediate, so clients cannot fill it.
struct SignerCache: Sendable {
    /// One chain. It matches only if every byte is equal.
    struct Entry: Sendable {
        fileprivate let role: SignerRole
        fileprivate let leaf: [UInt8]
        /// The intermediate certificate; `nil` if it is a known one that did not come with the receipt.
        fileprivate let authority: [UInt8]?
        fileprivate let signer: VerifiedSigner

        fileprivate func matches(_ presented: PresentedSigner, role: SignerRole, in bytes: borrowing Span<UInt8>)
            -> Bool
        {
            guard role == self.role, bytes.holds(leaf, at: presented.leaf) else { return false }
            guard let authority else { return true }
            for range in presented.authorities where bytes.holds(authority, at: range) { return true }
            return false
        }
    }

    let chains: FIFOCache<Entry>

    /// Returns the cached signer for these certificates and this role, if its chain was valid at that time.
    ///
    /// Searches linearly: there are a dozen entries in practice, which differ in their first bytes, so comparing is
    /// quicker than hashing.
    func signer(
        for presented: PresentedSigner, role: SignerRole, time: TrustStore.SigningTime, in bytes: borrowing Span<UInt8>
    ) -> VerifiedSigner? {
        for entry in chains.entries
        where time.falls(in: entry.signer.window) && entry.matches(presented, role: role, in: bytes) {
            return entry.signer
        }
        return nil
    }

    /// The certificates are DER. The authority is `nil` for a known intermediate.
    func insert(_ signer: VerifiedSigner, leaf: [UInt8], authority: [UInt8]?, role: SignerRole) {
        let entry = Entry(role: role, leaf: leaf, authority: authority, signer: signer)
        chains.insert(entry) {
            $0.role == entry.role && $0.leaf == entry.leaf && $0.authority == entry.authority
                && $0.signer.window == signer.window
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
