/// Finds and verifies the key of a signer: the one entry point for certificates that come from outside.
package final class TrustStore: Sendable {
    /// When a signature counts as made.
    package enum SigningTime: Sendable, Hashable {
        /// The signed content says when, in seconds since 1970.
        case at(Int64)
        /// The signed content says only what came before it (a purchase): the signer may have been made later, but
        /// must not have ended before. Seconds since 1970.
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

    /// - Parameter cacheCapacity: chains of receipts, and as many complete ones of signed texts; Apple has used about
    ///   ten in seventeen years.
    package init(anchors: TrustAnchors, cacheCapacity: Int = 64) throws(CryptographyError) {
        self.anchors = anchors
        self.verifier = try ChainVerifier(roots: anchors.roots)
        self.cache = SignerCache(capacity: cacheCapacity)
        self.completeChains = ChainCache(capacity: cacheCapacity)
    }

    /// The key of a signer, if its chain holds for the role and the time. The known authorities are tried behind those
    /// that travelled along.
    ///
    /// - Throws: `malformed`, `keyRefused`, `markerMissing`, `issuerUnknown`, `untrusted`, `outsideValidity`.
    package func key(
        of presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole, time: SigningTime
    ) throws(CryptographyError) -> VerifyingKey {
        if let known = cache.signer(for: presented, role: role, time: time, in: bytes) { return known.key }
        let signers = try verify(presented, in: bytes, role: role)
        guard let signer = signers.first(where: { time.falls(in: $0.window) }) else {
            throw CryptographyError(.outsideValidity, "the signer's chain was not valid at the time of signing")
        }
        return signer.key
    }

    /// How many leaves are remembered, each below one authority; for measuring.
    package var cachedSigners: Int { cache.count }

    /// How many complete chains are remembered; for measuring.
    package var rememberedChains: Int { completeChains.count }

    /// How many chains OpenSSL was asked about since the start; for measuring.
    package var chainVerifications: Int { verifier.count }

    /// Forgets what was verified; for measuring the first receipt of a chain.
    package func removeCachedSigners() {
        cache.removeAll()
        completeChains.removeAll()
    }

    /// Every chain of the leaf that holds. Each is remembered apart, and none that does not hold: what else travels
    /// along, which nobody signed, makes no difference.
    private func verify(
        _ presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(CryptographyError) -> [VerifiedSigner] {
        let leaf = try Certificate(der: bytes.extracting(presented.leaf))
        guard leaf.carries(role.leafMarker) else {
            throw CryptographyError(.markerMissing, "the signer does not carry \(role.leafMarker)")
        }
        guard !leaf.isSelfIssued else { throw CryptographyError(.untrusted, "the signer vouches for itself") }
        var signers: [VerifiedSigner] = []
        var failure = CryptographyError(.issuerUnknown, "the certificate of the signer's issuer is not at hand")
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
