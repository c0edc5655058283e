import COpenSSL
import Synchronization

/// Verifies a signer's certificate chain, which must be exactly leaf, intermediate and pinned root.
///
/// Checks the role's marker extension on the intermediate, and every signature in the chain. The time of signing is not
/// checked here: the result is the leaf's key and the period in which the whole chain was valid.
///
/// `@unchecked Sendable`: the X509_STORE is filled in `init` and only read afterwards, and OpenSSL locks it
/// internally.
final class ChainVerifier: @unchecked Sendable {
    private let store: OpaquePointer
    private let roots: [Certificate]
    private let verifications = Atomic(0)

    /// Number of chains that OpenSSL verified or rejected.
    var count: Int { verifications.load(ordering: .relaxed) }

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

    /// Verifies one chain. The caller has already checked the leaf's own marker.
    ///
    /// - Throws: `markerMissing`, `untrusted`, `outsideValidity`, `malformed`, `keyRefused`, `unavailable`.
    func verify(
        leaf: Certificate, authority: Certificate, role: SignerRole
    ) throws(CryptographyError) -> VerifiedSigner {
        guard authority.isAuthority else {
            throw CryptographyError(.untrusted, "the issuer's certificate is not a CA certificate")
        }
        guard authority.hasExtension(role.authorityMarker) else {
            throw CryptographyError(
                .markerMissing, "the issuer's certificate lacks the marker extension \(role.authorityMarker)")
        }
        guard leaf.hasAcceptedSignatureAlgorithm, authority.hasAcceptedSignatureAlgorithm else {
            throw CryptographyError(.untrusted, "a certificate is signed with an unsupported algorithm")
        }
        let window = try buildChain(leaf: leaf, authority: authority)
        let key = try leaf.publicKey()
        guard !key.isRSA || key.bits >= role.minimumRSABits else {
            throw CryptographyError(.keyRefused, "the signer has an RSA key of \(key.bits) bits")
        }
        return VerifiedSigner(key: key, window: window)
    }

    /// Runs OpenSSL's verification, then checks the shape of the chain it found. Returns the period in which all
    /// three certificates were valid, in seconds since 1970.
    private func buildChain(
        leaf: Certificate, authority: Certificate
    ) throws(CryptographyError) -> ClosedRange<Int64> {
        verifications.add(1, ordering: .relaxed)
        guard let context = X509_STORE_CTX_new(), let untrusted = bridge_certificates_new() else {
            throw .openSSL(.unavailable, "cannot allocate memory to verify a chain")
        }
        defer {
            X509_STORE_CTX_free(context)
            bridge_certificates_free(untrusted)
        }
        guard bridge_certificates_push(untrusted, authority.x509) > 0,
            X509_STORE_CTX_init(context, store, leaf.x509, untrusted) == 1
        else { throw .openSSL(.unavailable, "cannot allocate memory to verify a chain") }
        let parameters = X509_STORE_CTX_get0_param(context)
        // The caller checks the time. Security level 0 allows Apple's older SHA-1 signatures and RSA-1024 keys.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME))
        X509_VERIFY_PARAM_set_auth_level(parameters, 0)
        X509_VERIFY_PARAM_set_depth(parameters, 2)
        guard X509_verify_cert(context) == 1 else {
            let errorCode = X509_STORE_CTX_get_error(context)
            ERR_clear_error()
            throw CryptographyError(.untrusted, String(cString: X509_verify_cert_error_string(Int(errorCode))))
        }
        guard let chain = X509_STORE_CTX_get0_chain(context), bridge_certificates_count(chain) == 3,
            X509_cmp(bridge_certificates_at(chain, 1), authority.x509) == 0,
            let root = roots.first(where: { X509_cmp($0.x509, bridge_certificates_at(chain, 2)) == 0 })
        else { throw CryptographyError(.untrusted, "the chain is not leaf, intermediate and pinned root") }
        let from = max(leaf.validity.lowerBound, authority.validity.lowerBound, root.validity.lowerBound)
        let to = min(leaf.validity.upperBound, authority.validity.upperBound, root.validity.upperBound)
        guard from <= to else {
            throw CryptographyError(.outsideValidity, "the validity periods of the chain do not overlap")
        }
        return from...to
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
    let name: String
    /// Dotted OID of the extension that the leaf must have.
    package let leafMarker: String
    /// Dotted OID of the extension that the intermediate must have.
    package let authorityMarker: String
    /// Minimum size of a signer's RSA key in bits. EC keys are checked by their curve.
    let minimumRSABits: Int

    /// The signer of App Receipts, of transactionReceipts since version 3, and of everything from the App Store
    /// Server API.
    package static let storeReceipt = SignerRole(
        name: "store receipt signer", leafMarker: "1.2.840.113635.100.6.11.1",
        authorityMarker: "1.2.840.113635.100.6.2.1", minimumRSABits: 2048)

    /// The signer of transactionReceipts of version 2, until 2016: the only ones that Apple signed with RSA keys of
    /// 1024 bits.
    package static let purchaseReceipt = SignerRole(
        name: "purchase receipt signer", leafMarker: "1.2.840.113635.100.6.5.1",
        authorityMarker: "1.2.840.113635.100.6.2.2", minimumRSABits: 1024)
}
