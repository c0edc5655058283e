import COpenSSL
import Synchronization

/// Judges a signer's certificate: exactly leaf, authority, pinned root; the markers of a role on both; every signature
/// in the chain. Time is not judged here: the verdict is a key and the window in which the whole chain was valid.
///
/// `@unchecked Sendable`: the X509_STORE is filled in `init` and only read afterwards; OpenSSL locks it inside.
final class ChainVerifier: @unchecked Sendable {
    private let store: OpaquePointer
    private let roots: [Certificate]
    private let verifications = Atomic(0)

    /// Chains that OpenSSL was asked about.
    var count: Int { verifications.load(ordering: .relaxed) }

    init(roots: [Certificate]) throws(CryptographyError) {
        guard let store = X509_STORE_new() else { throw .openSSL(.unavailable, "no memory for a certificate store") }
        self.store = store
        self.roots = roots
        for root in roots {
            guard X509_STORE_add_cert(store, root.x509) == 1 else { throw .openSSL(.malformed, "a trusted root") }
        }
    }

    deinit {
        X509_STORE_free(store)
    }

    /// - Throws: `markerMissing`, `untrusted`, `malformed`, `keyRefused`.
    func verify(
        leaf: Certificate, authority: Certificate, role: SignerRole
    ) throws(CryptographyError) -> VerifiedSigner {
        guard authority.isAuthority else { throw CryptographyError(.untrusted, "the issuer is not an authority") }
        guard authority.carries(role.authorityMarker) else {
            throw CryptographyError(.markerMissing, "the issuer does not carry \(role.authorityMarker)")
        }
        guard leaf.hasAcceptedSignatureAlgorithm, authority.hasAcceptedSignatureAlgorithm else {
            throw CryptographyError(.untrusted, "a certificate is signed by an algorithm that is not accepted")
        }
        let window = try buildChain(leaf: leaf, authority: authority)
        let key = try leaf.publicKey()
        guard !key.isRSA || key.bits >= role.minimumRSABits else {
            throw CryptographyError(.keyRefused, "the signer has an RSA key of \(key.bits) bits")
        }
        return VerifiedSigner(key: key, window: window)
    }

    /// OpenSSL's verdict, then the shape of the chain it found.
    private func buildChain(
        leaf: Certificate, authority: Certificate
    ) throws(CryptographyError) -> ClosedRange<Int64> {
        verifications.add(1, ordering: .relaxed)
        guard let context = X509_STORE_CTX_new(), let untrusted = bridge_certificates_new() else {
            throw .openSSL(.unavailable, "no memory to verify a chain")
        }
        defer {
            X509_STORE_CTX_free(context)
            bridge_certificates_free(untrusted)
        }
        guard bridge_certificates_push(untrusted, authority.x509) > 0,
            X509_STORE_CTX_init(context, store, leaf.x509, untrusted) == 1
        else { throw .openSSL(.unavailable, "no memory to verify a chain") }
        let parameters = X509_STORE_CTX_get0_param(context)
        // Time is judged by the caller; level 0 admits the SHA-1 and RSA-1024 of Apple's own past.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME))
        X509_VERIFY_PARAM_set_auth_level(parameters, 0)
        X509_VERIFY_PARAM_set_depth(parameters, 2)
        guard X509_verify_cert(context) == 1 else {
            let number = X509_STORE_CTX_get_error(context)
            ERR_clear_error()
            throw CryptographyError(.untrusted, String(cString: X509_verify_cert_error_string(Int(number))))
        }
        guard let chain = X509_STORE_CTX_get0_chain(context), bridge_certificates_count(chain) == 3,
            X509_cmp(bridge_certificates_at(chain, 1), authority.x509) == 0,
            let root = roots.first(where: { X509_cmp($0.x509, bridge_certificates_at(chain, 2)) == 0 })
        else { throw CryptographyError(.untrusted, "the chain is not leaf, authority, pinned root") }
        let from = max(leaf.validity.lowerBound, authority.validity.lowerBound, root.validity.lowerBound)
        let to = min(leaf.validity.upperBound, authority.validity.upperBound, root.validity.upperBound)
        guard from <= to else { throw CryptographyError(.outsideValidity, "the chain was never valid as a whole") }
        return from...to
    }
}

/// A key whose chain was verified, and when that chain was valid.
package struct VerifiedSigner: Sendable {
    package let key: VerifyingKey
    /// Seconds since 1970, both inclusive.
    package let window: ClosedRange<Int64>
}
