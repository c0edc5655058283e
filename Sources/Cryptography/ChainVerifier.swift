import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL
import Synchronization

/// Verifies a signer's certificate chain, which must be exactly leaf, intermediate and pinned root.
///
/// Checks the role's marker extension on the intermediate, and every signature in the chain. The time of signing is not
/// checked here: the result is the leaf's key and the period in which the whole chain was valid.
///
/// An intermediate is verified once, also if the leaf below it is not genuine. So a client that sends a leaf of its own
/// with every JWS costs one verification each.
///
/// `@unchecked Sendable`: the X509_STORE is filled in `init` and only read afterwards, and OpenSSL locks it
/// internally.
final class ChainVerifier: @unchecked Sendable {
    private let store: OpaquePointer
    private let roots: [Certificate]
    private let verifications = Atomic(0)
    private let authorityVerifications = Atomic(0)
    /// Intermediates below a pinned root. They have the marker of a role, so there are a dozen at most.
    private let issuers = FIFOCache<Issuer>(capacity: 16)

    /// An intermediate that is verified, and the verifier of what it issued.
    private struct Issuer: Sendable {
        let der: [UInt8]
        /// The period in which the intermediate and its root are valid.
        let window: ClosedRange<Int64>
        let verifier: ChainVerifier
    }

    /// Number of chains that OpenSSL verified or rejected.
    var count: Int { verifications.load(ordering: .relaxed) }
    /// Number of intermediates that OpenSSL verified or rejected.
    var authorityCount: Int { authorityVerifications.load(ordering: .relaxed) }

    init(roots: [Certificate]) throws(CryptographyError) {
        guard let store = X509_STORE_new() else { throw .openSSL(.unavailable, "cannot allocate a certificate store") }
        self.store = store
        self.roots = roots
        for root in roots {
            guard X509_STORE_add_cert(store, root.x509) == 1 else {
                throw .openSSL(.malformed, "a trusted root cannot be added to the certificate store")
            }
        }
    }

    deinit {
        X509_STORE_free(store)
    }

    /// Verifies one chain. Returns the signer, and the intermediate if it can verify further certificates. The caller
    /// has already checked the leaf's own marker. Throws `markerMissing`, `untrusted`, `outsideValidity`, `malformed`,
    /// `keyRefused`, `unsupported`, `unavailable`.
    func verify(
        leaf: Certificate, authority: Certificate, role: SignerRole
    ) throws(CryptographyError) -> (signer: VerifiedSigner, authority: VerifiedAuthority?) {
        guard authority.isAuthority else {
            throw CryptographyError(.untrusted, "the issuer's certificate is not a CA certificate")
        }
        guard authority.hasExtension(role.authorityMarker) else {
            throw CryptographyError(
                .markerMissing, "the issuer's certificate lacks the marker extension \(role.authorityMarker)")
        }
        guard leaf.hasAcceptedSignatureAlgorithm, authority.hasAcceptedSignatureAlgorithm else {
            throw CryptographyError(.unsupported, "a certificate is signed with an unsupported algorithm")
        }
        verifications.add(1, ordering: .relaxed)
        let above: ClosedRange<Int64>?
        if let issuer = try issuer(authority) {
            _ = try issuer.verifier.buildChain([leaf])
            above = issuer.window
        } else {
            above = Self.overlap(authority.validity, try buildChain([leaf, authority]).validity)
        }
        guard let above, let window = Self.overlap(leaf.validity, above) else {
            throw CryptographyError(.outsideValidity, "the validity periods of the chain do not overlap")
        }
        let key = try leaf.publicKey()
        guard !key.isRSA || key.bits >= role.minimumRSABits else {
            throw CryptographyError(.keyRefused, "the signer has an RSA key of \(key.bits) bits")
        }
        return (VerifiedSigner(key: key, window: window), VerifiedAuthority(authority, window: above))
    }

    /// Verifies a known intermediate before a certificate below it is known; `nil` if no pinned root issued it, or it
    /// must not issue certificates.
    func verify(known authority: Certificate) -> VerifiedAuthority? {
        guard authority.isAuthority, authority.hasAcceptedSignatureAlgorithm,
            let window = (try? window(of: authority)) ?? nil
        else { return nil }
        return VerifiedAuthority(authority, window: window)
    }

    /// Returns whether a pinned root issued an intermediate that may issue certificates.
    func isBelowRoot(_ authority: Certificate) -> Bool {
        authority.isAuthority && authority.hasAcceptedSignatureAlgorithm && ((try? window(of: authority)) ?? nil) != nil
    }

    /// Returns the verified intermediate with this encoding; `nil` if only a whole chain shows what is wrong with it.
    /// Throws `untrusted` if no pinned root issued it, `unavailable`.
    private func issuer(_ authority: Certificate) throws(CryptographyError) -> Issuer? {
        if let known = issuers.entries.first(where: { $0.der == authority.der }) { return known }
        guard let window = try window(of: authority) else { return nil }
        let issuer = Issuer(der: authority.der, window: window, verifier: try ChainVerifier(roots: [authority]))
        issuers.insert(issuer) { $0.der == issuer.der }
        return issuer
    }

    /// Verifies an intermediate alone. Returns the period in which it and its root are valid; `nil` if no such period
    /// exists, or if it must not issue certificates.
    private func window(of authority: Certificate) throws(CryptographyError) -> ClosedRange<Int64>? {
        guard X509_get_key_usage(authority.x509) & UInt32(KU_KEY_CERT_SIGN) != 0 else { return nil }
        authorityVerifications.add(1, ordering: .relaxed)
        let root = try buildChain([authority])
        guard root.x509 != authority.x509, case let length = X509_get_pathlen(root.x509), length < 0 || length >= 1
        else { return nil }
        return Self.overlap(authority.validity, root.validity)
    }

    private static func overlap(_ left: ClosedRange<Int64>, _ right: ClosedRange<Int64>) -> ClosedRange<Int64>? {
        let from = max(left.lowerBound, right.lowerBound)
        let to = min(left.upperBound, right.upperBound)
        return from <= to ? from...to : nil
    }

    /// Runs OpenSSL's verification, then checks that it found exactly these certificates and a pinned root, which is
    /// returned: a leaf and its intermediate, or an intermediate alone; below a verified intermediate, a leaf alone.
    private func buildChain(_ certificates: [Certificate]) throws(CryptographyError) -> Certificate {
        guard let context = X509_STORE_CTX_new(), let untrusted = bridge_certificates_new() else {
            throw .openSSL(.unavailable, "cannot allocate memory to verify a chain")
        }
        defer {
            X509_STORE_CTX_free(context)
            bridge_certificates_free(untrusted)
        }
        for certificate in certificates.dropFirst() {
            guard bridge_certificates_push(untrusted, certificate.x509) > 0 else {
                throw .openSSL(.unavailable, "cannot allocate memory to verify a chain")
            }
        }
        guard X509_STORE_CTX_init(context, store, certificates[0].x509, untrusted) == 1 else {
            throw .openSSL(.unavailable, "cannot allocate memory to verify a chain")
        }
        let parameters = X509_STORE_CTX_get0_param(context)
        // The caller checks the time. Security level 0 allows Apple's older SHA-1 signatures and RSA-1024 keys.
        // A chain may end in any certificate of the store: a pinned root, or an intermediate that is verified.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME) | UInt(X509_V_FLAG_PARTIAL_CHAIN))
        X509_VERIFY_PARAM_set_auth_level(parameters, 0)
        X509_VERIFY_PARAM_set_depth(parameters, 2)
        guard X509_verify_cert(context) == 1 else {
            let errorCode = X509_STORE_CTX_get_error(context)
            ERR_clear_error()
            throw CryptographyError(.untrusted, String(cString: X509_verify_cert_error_string(Int(errorCode))))
        }
        let count = CInt(certificates.count)
        guard let chain = X509_STORE_CTX_get0_chain(context), bridge_certificates_count(chain) == count + 1,
            certificates.indices.allSatisfy({
                X509_cmp(bridge_certificates_at(chain, CInt($0)), certificates[$0].x509) == 0
            }),
            let root = roots.first(where: { X509_cmp($0.x509, bridge_certificates_at(chain, count)) == 0 })
        else { throw CryptographyError(.untrusted, "the chain is not leaf, intermediate and pinned root") }
        return root
    }
}

/// The key of a verified chain, and the period in which that chain was valid.
package struct VerifiedSigner: Sendable {
    package let key: VerifyingKey
    /// Seconds since 1970, both bounds inclusive.
    package let window: ClosedRange<Int64>
}

/// The purpose that a signing certificate must have: the marker extensions of the leaf and of its issuer.
///
/// Any Apple developer's certificate chains to the same root, so only these markers identify a receipt signer.
package struct SignerRole: Sendable, Hashable {
    /// Dotted OID of the extension that the leaf must have.
    package let leafMarker: String
    /// Dotted OID of the extension that the intermediate must have.
    let authorityMarker: String
    /// Minimum size of a signer's RSA key in bits. EC keys are checked by their curve.
    let minimumRSABits: Int

    /// The content of the leaf marker's identifier in DER.
    let leafMarkerContent: [UInt8]

    /// The signer of App Receipts, of transactionReceipts since version 3, and of everything from the App Store
    /// Server API.
    package static let storeReceipt = SignerRole(
        leafMarker: "1.2.840.113635.100.6.11.1", authorityMarker: "1.2.840.113635.100.6.2.1", minimumRSABits: 2048,
        leafMarkerContent: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01])

    /// The signer of transactionReceipts of version 2, until 2016: the only ones that Apple signed with RSA keys of
    /// 1024 bits.
    package static let purchaseReceipt = SignerRole(
        leafMarker: "1.2.840.113635.100.6.5.1", authorityMarker: "1.2.840.113635.100.6.2.2", minimumRSABits: 1024,
        leafMarkerContent: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x05, 0x01])
}
