import ConcurrencySupport

/// Finds and verifies the key of a signer. The single entry point for certificates from outside.
package final class TrustStore: Sendable {
    /// The time at which the chain must have been valid.
    package enum SigningTime: Sendable, Hashable {
        /// The signed content states its time of signing, in seconds since 1970.
        case at(Int64)
        /// The signed content states only an earlier event, for example a purchase, in seconds since 1970. The
        /// signer's certificate may have been issued later, but must not have expired before it.
        case notBefore(Int64)

        func falls(in window: ClosedRange<Int64>) -> Bool {
            switch self {
            case .at(let seconds): window.contains(seconds)
            case .notBefore(let seconds): seconds <= window.upperBound
            }
        }
    }

    let anchors: TrustAnchors
    let verifier: ChainVerifier
    let completeChains: ChainCache
    private let cache: SignerCache

    /// - Parameter cacheCapacity: maximum number of cached chains of receipts, and separately of complete chains of
    ///   JWS. Apple has used about ten in seventeen years.
    package init(anchors: TrustAnchors, cacheCapacity: Int = 64) throws(CryptographyError) {
        self.anchors = anchors
        self.verifier = try ChainVerifier(roots: anchors.roots)
        self.cache = SignerCache(chains: FIFOCache(capacity: cacheCapacity))
        self.completeChains = ChainCache(chains: FIFOCache(capacity: cacheCapacity))
    }

    /// Returns the key of a signer if its chain is valid for the role and the time. Intermediates that came with the
    /// signature are tried first, then the known intermediates.
    ///
    /// - Throws: `malformed`, `keyRefused`, `markerMissing`, `issuerUnknown`, `untrusted`, `outsideValidity`.
    package func key(
        of presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole, time: SigningTime
    ) throws(CryptographyError) -> VerifyingKey {
        if let cached = cache.signer(for: presented, role: role, time: time, in: bytes) { return cached.key }
        let signers = try verify(presented, in: bytes, role: role)
        guard let signer = signers.first(where: { time.falls(in: $0.window) }) else {
            throw CryptographyError(.outsideValidity, "the signer's chain was not valid at the time of signing")
        }
        return signer.key
    }

    /// Number of cached pairs of leaf and intermediate, for measurements.
    package var cachedSigners: Int { cache.chains.entries.count }

    /// Number of cached complete chains, for measurements.
    package var cachedChains: Int { completeChains.chains.entries.count }

    /// Number of chains that OpenSSL verified or rejected since the start, for measurements.
    package var chainVerifications: Int { verifier.count }

    /// Empties both caches, to measure the first receipt of a chain.
    package func removeCachedSigners() {
        cache.chains.removeAll()
        completeChains.chains.removeAll()
    }

    /// Returns every valid chain of the leaf.
    ///
    /// Each valid chain is cached as its own entry, and invalid ones are not cached. So additional certificates in
    /// the input, which no signature covers, make no difference.
    private func verify(
        _ presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(CryptographyError) -> [VerifiedSigner] {
        let leaf = try Certificate(der: bytes.extracting(presented.leaf))
        guard leaf.hasExtension(role.leafMarker) else {
            throw CryptographyError(
                .markerMissing, "the signer's certificate lacks the marker extension \(role.leafMarker)")
        }
        guard !leaf.isSelfIssued else { throw CryptographyError(.untrusted, "the signer's certificate is self-issued") }
        var signers: [VerifiedSigner] = []
        var failure = CryptographyError(.issuerUnknown, "the certificate of the signer's issuer is not available")
        for encoding in presented.authorities {
            do throws(CryptographyError) {
                let authority = try Certificate(der: bytes.extracting(encoding))
                let signer = try verifier.verify(leaf: leaf, authority: authority, role: role)
                cache.insert(signer, leaf: leaf, authority: authority, role: role)
                signers.append(signer)
            } catch {
                failure = error
            }
        }
        for authority in anchors.intermediates where authority.subject == leaf.issuer {
            do throws(CryptographyError) {
                let signer = try verifier.verify(leaf: leaf, authority: authority, role: role)
                cache.insert(signer, leaf: leaf, authority: nil, role: role)
                signers.append(signer)
            } catch {
                if failure.code == .issuerUnknown { failure = error }
            }
        }
        guard !signers.isEmpty else { throw failure }
        return signers
    }
}
