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

    private let anchors: TrustAnchors
    private let verifier: ChainVerifier
    private let cache: SignerCache

    /// - Parameter cacheCapacity: chains; Apple has used about ten in seventeen years.
    package init(anchors: TrustAnchors, cacheCapacity: Int = 64) throws(CryptographyError) {
        self.anchors = anchors
        self.verifier = try ChainVerifier(roots: anchors.roots)
        self.cache = SignerCache(capacity: cacheCapacity)
    }

    /// The key of `leaf`, if its chain holds for the role and the time.
    ///
    /// - Parameters:
    ///   - leaf: the signer's certificate, DER.
    ///   - authorities: certificates that travelled along and whose subject is the leaf's issuer, DER; the known ones
    ///     are tried behind them.
    /// - Throws: `malformed`, `keyRefused`, `markerMissing`, `issuerUnknown`, `untrusted`, `outsideValidity`.
    package func key(
        leaf: borrowing Span<UInt8>, authorities: [[UInt8]], role: SignerRole, time: SigningTime
    ) throws(CryptographyError) -> VerifyingKey {
        guard leaf.count <= Certificate.maximumSize, authorities.allSatisfy({ $0.count <= Certificate.maximumSize })
        else { throw CryptographyError(.malformed, "a certificate larger than \(Certificate.maximumSize) bytes") }
        var identities: [[UInt8]] = []
        // The last one stands for the authorities that are known here.
        for authority in authorities.prefix(Self.maximumAuthorities) + [[]] {
            let identity = try Self.identity(leaf: leaf, authority: authority, role: role)
            if let signer = cache[identity]?.first(where: { time.falls(in: $0.window) }) { return signer.key }
            identities.append(identity)
        }
        let signers = try verify(leaf: leaf, authorities: authorities, role: role, identities: identities)
        guard let signer = signers.first(where: { time.falls(in: $0.window) }) else {
            throw CryptographyError(.outsideValidity, "the signer's chain was not valid at the time of signing")
        }
        return signer.key
    }

    /// Genuine receipts have one.
    private static let maximumAuthorities = 4

    /// How many leaves are remembered, each below one authority; for measuring.
    package var rememberedSigners: Int { cache.count }

    /// Forgets what was verified; for measuring the first receipt of a chain.
    package func forgetSigners() {
        cache.removeAll()
    }

    /// Every chain of the leaf that holds. Each is remembered apart, and none that does not hold: what else travels
    /// along, which nobody signed, makes no difference.
    private func verify(
        leaf bytes: borrowing Span<UInt8>, authorities: [[UInt8]], role: SignerRole, identities: [[UInt8]]
    ) throws(CryptographyError) -> [VerifiedSigner] {
        let leaf = try Certificate(der: bytes)
        guard leaf.carries(role.leafMarker) else {
            throw CryptographyError(.markerMissing, "the signer does not carry \(role.leafMarker)")
        }
        guard !leaf.isSelfIssued else { throw CryptographyError(.untrusted, "the signer vouches for itself") }
        var signers: [VerifiedSigner] = []
        var failure = CryptographyError(.issuerUnknown, "the certificate of the signer's issuer is not at hand")
        for (encoding, identity) in zip(authorities.prefix(Self.maximumAuthorities), identities) {
            do throws(CryptographyError) {
                let authority = try Certificate(der: encoding.span)
                signers.append(try verifier.verify(leaf: leaf, authority: authority, role: role))
                cache.insert(Array(signers.suffix(1)), for: identity)
            } catch {
                failure = error
            }
        }
        let travelled = signers.count
        for authority in anchors.intermediates where authority.subject == leaf.issuer {
            do throws(CryptographyError) {
                signers.append(try verifier.verify(leaf: leaf, authority: authority, role: role))
            } catch {
                if failure.code == .issuerUnknown { failure = error }
            }
        }
        guard !signers.isEmpty else { throw failure }
        if signers.count > travelled, let identity = identities.last {
            cache.insert(Array(signers[travelled...]), for: identity)
        }
        return signers
    }

    /// SHA-256 over role, leaf and authority, each with its length in front.
    private static func identity(
        leaf: borrowing Span<UInt8>, authority: [UInt8], role: SignerRole
    ) throws(CryptographyError) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(leaf.count + authority.count + 64)
        input.append(contentsOf: role.leafMarker.utf8)
        input.append(contentsOf: [0, UInt8(truncatingIfNeeded: leaf.count >> 8), UInt8(truncatingIfNeeded: leaf.count)])
        leaf.withUnsafeBufferPointer { input.append(contentsOf: $0) }
        input.append(UInt8(truncatingIfNeeded: authority.count >> 8))
        input.append(UInt8(truncatingIfNeeded: authority.count))
        input.append(contentsOf: authority)
        guard let digest = DigestAlgorithm.sha256.digest(of: input.span) else {
            throw .openSSL(.unavailable, "SHA-256")
        }
        return digest
    }
}
