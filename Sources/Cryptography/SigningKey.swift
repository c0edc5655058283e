import COpenSSL

/// A private key: of the simulated App Store's authorities and signers, or of an app's Server API account.
///
/// `@unchecked Sendable`: the key is never written after `init`, and OpenSSL lets any number of threads sign with one
/// `EVP_PKEY` at a time, each with a context of its own.
package final class SigningKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Takes ownership of `key`.
    private init(owning key: OpaquePointer) {
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// A new RSA key; 1024 bits are what old transactionReceipts are signed with.
    package static func rsa(bits: Int) throws(CryptographyError) -> SigningKey {
        try generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(clamping: bits)) }
    }

    /// A new key on the curve of JWS leaves and of Server API keys.
    package static func p256() throws(CryptographyError) -> SigningKey {
        try generate("EC") { EVP_PKEY_CTX_set_group_name($0, "P-256") }
    }

    /// A new key on the curve of the authorities above JWS leaves.
    package static func p384() throws(CryptographyError) -> SigningKey {
        try generate("EC") { EVP_PKEY_CTX_set_group_name($0, "P-384") }
    }

    /// A key from PKCS#8 text as `privateKeyPEM` writes it, or as App Store Connect's `.p8` files hold it; both halves of
    /// an elliptic one must be of the same key.
    package init(privateKeyPEM text: String) throws(CryptographyError) {
        guard let input = BIO_new(BIO_s_mem()) else {
            throw .openSSL(.unavailable, "no memory for a private key")
        }
        defer { BIO_free(input) }
        // Copied in: a BIO over foreign memory would keep a pointer that Swift lends for one call only.
        let bytes = Array(text.utf8)
        guard BIO_write(input, bytes, Int32(clamping: bytes.count)) == bytes.count else {
            throw .openSSL(.malformed, "not a private key in PEM form")
        }
        // A callback that gives no passphrase: the default one would ask on the terminal.
        guard let key = PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil) else {
            throw .openSSL(.malformed, "not an unencrypted private key in PEM form")
        }
        self.key = key
        // OpenSSL takes the public half as it is written, which in a file that is just written may be another key's.
        guard isRSA || hasMatchingHalves else {
            throw .openSSL(.keyRefused, "a private key with another one's public key")
        }
    }

    /// Whether the public half belongs to the private one.
    private var hasMatchingHalves: Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_pairwise_check(context) == 1
    }

    private static func generate(
        _ type: String, configure: (OpaquePointer) -> Int32
    ) throws(CryptographyError) -> SigningKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else {
            throw .openSSL(.unavailable, "no \(type) keys here")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, configure(context) == 1, EVP_PKEY_generate(context, &key) == 1,
            let key
        else { throw .openSSL(.keyRefused, "cannot make such a \(type) key") }
        return SigningKey(owning: key)
    }
}

extension SigningKey {
    /// RSA keys sign by PKCS#1 v1.5, EC keys by ECDSA; the latter's differ from call to call.
    package var isRSA: Bool { EVP_PKEY_is_a(key, "RSA") == 1 }

    package var bits: Int { Int(EVP_PKEY_get_bits(key)) }

    /// RSA: PKCS#1 v1.5, as many bytes as the key has. EC: a DER `ECDSA-Sig-Value`.
    package func signature(over bytes: [UInt8], digest: DigestAlgorithm) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .openSSL(.unavailable, "no memory for a signature") }
        defer { EVP_MD_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(key))
        var result = [UInt8](repeating: 0, count: max(length, 0))
        guard EVP_DigestSignInit(context, nil, digest.signingMethod, nil, key) == 1,
            EVP_DigestSign(context, &result, &length, bytes, bytes.count) == 1
        else { throw .openSSL(.unavailable, "cannot sign") }
        return Array(result.prefix(length))
    }

    /// The 64 bytes r‖s that a JWS with `ES256` carries; only with a P-256 key.
    package func rawES256Signature(over bytes: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard !isRSA, bits == 256 else { throw CryptographyError(.keyRefused, "ES256 needs a P-256 key") }
        let encoded = try signature(over: bytes, digest: .sha256)
        let parts = encoded.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var position = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &position, buffer.count)
        }
        guard let parts else { throw .openSSL(.malformed, "not an ECDSA signature") }
        defer { ECDSA_SIG_free(parts) }
        var (r, s) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        guard BN_bn2binpad(ECDSA_SIG_get0_r(parts), &r, 32) == 32, BN_bn2binpad(ECDSA_SIG_get0_s(parts), &s, 32) == 32
        else { throw .openSSL(.malformed, "an ECDSA signature that is too long") }
        return r + s
    }

    /// The public half as `SubjectPublicKeyInfo` in DER.
    package var publicKeyInfo: [UInt8] {
        let count = Int(i2d_PUBKEY(key, nil))
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var position = buffer.baseAddress
            initialized = max(Int(i2d_PUBKEY(key, &position)), 0)
        }
    }

    /// The private half as unencrypted PKCS#8 text, the form of App Store Connect's `.p8` files.
    package var privateKeyPEM: String {
        guard let output = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(output) }
        guard PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1 else { return "" }
        var start: UnsafePointer<CChar>?
        let count = Int(bridge_bio_bytes(output, &start))
        guard let start, count > 0 else { return "" }
        return start.withMemoryRebound(to: UInt8.self, capacity: count) {
            String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self)
        }
    }
}
