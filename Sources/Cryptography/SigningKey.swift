import ReceiptBridgeCOpenSSL

/// A private key: for CAs and signers of the simulated App Store, or for an app's App Store Server API
/// account.
///
/// `@unchecked Sendable`: the key is never written after `init`, and OpenSSL lets any number of threads sign with one
/// `EVP_PKEY` at the same time, each with its own context.
package final class SigningKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Takes ownership of `key`.
    private init(owning key: OpaquePointer) { self.key = key }

    deinit {
        EVP_PKEY_free(key)
    }

    /// Generates an RSA key. Old transactionReceipts are signed with 1024 bits.
    package static func rsa(bits: Int) throws(CryptographyError) -> SigningKey {
        try generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(clamping: bits)) }
    }

    /// Generates a P-256 key, the curve of JWS leaf certificates and of App Store Server API keys.
    package static func p256() throws(CryptographyError) -> SigningKey {
        try generate("EC") { EVP_PKEY_CTX_set_group_name($0, "P-256") }
    }

    /// Generates a P-384 key, the curve of the intermediates and roots above JWS leaf certificates.
    package static func p384() throws(CryptographyError) -> SigningKey {
        try generate("EC") { EVP_PKEY_CTX_set_group_name($0, "P-384") }
    }

    /// Reads an unencrypted PKCS#8 key in PEM form, for example one of App Store Connect's `.p8` files or the text of
    /// ``privateKeyPEM``. Throws `malformed` if the text is not such a key; `keyRefused` if the public half of an EC
    /// key does not belong to the private half.
    package init(privateKeyPEM text: String) throws(CryptographyError) {
        guard let input = BIO_new(BIO_s_mem()) else {
            throw .openSSL(.unavailable, "cannot allocate memory for a private key")
        }
        defer { BIO_free(input) }
        // The bytes are copied in, because a BIO over them would keep a pointer that Swift lends for one call only.
        let bytes = Array(text.utf8)
        guard BIO_write(input, bytes, Int32(clamping: bytes.count)) == bytes.count else {
            throw .openSSL(.malformed, "not a private key in PEM form")
        }
        // The callback provides no passphrase. OpenSSL's default callback would prompt on the terminal.
        guard let key = PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil) else {
            // OpenSSL's own messages say nothing about the text.
            ERR_clear_error()
            throw CryptographyError(.malformed, Self.problem(of: text))
        }
        self.key = key
        // OpenSSL accepts the public half as it is written in the file, so it may belong to a different key, for
        // example in a file that is being replaced.
        guard isRSA || hasMatchingHalves else {
            ERR_clear_error()
            throw CryptographyError(.keyRefused, "the public key in the file does not belong to the private key")
        }
    }

    /// Says why a text is no private key in PEM form. Shows nothing of it, because it may be another secret.
    private static func problem(of text: String) -> String {
        let begin = text.firstRange(of: "-----BEGIN ")
        guard let begin, let kind = text[begin.upperBound...].firstRange(of: "-----") else {
            return text.allSatisfy(\.isWhitespace)
                ? "the private key is empty" : "the private key does not begin with -----BEGIN PRIVATE KEY-----"
        }
        let name = text[begin.upperBound..<kind.lowerBound]
        guard name.hasSuffix("PRIVATE KEY") else {
            let kinds = ["CERTIFICATE": "a certificate", "PUBLIC KEY": "a public key"]
            return "a private key is expected, and this is \(kinds[String(name)] ?? "something else")"
        }
        if name.hasPrefix("ENCRYPTED") || text.contains("Proc-Type: 4,ENCRYPTED") {
            return "the private key is encrypted; an unencrypted one is expected, as App Store Connect provides it"
        }
        guard text.contains("-----END \(name)-----") else {
            return "the private key is incomplete: its last line is missing"
        }
        return text[kind.upperBound...].contains(where: \.isNewline)
            ? "the text of the private key is damaged"
            : "the private key has no line breaks, or they are written as \\n"
    }

    private var hasMatchingHalves: Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_pairwise_check(context) == 1
    }

    private static func generate(
        _ type: String, configure: (OpaquePointer) -> Int32
    ) throws(CryptographyError) -> SigningKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else {
            throw .openSSL(.unavailable, "OpenSSL on this system does not support \(type) keys")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, configure(context) == 1, EVP_PKEY_generate(context, &key) == 1,
            let key
        else { throw .openSSL(.keyRefused, "cannot generate a \(type) key with these parameters") }
        return SigningKey(owning: key)
    }
}

extension SigningKey {
    /// `true` if this is an RSA key. RSA keys sign with PKCS#1 v1.5, EC keys with ECDSA, whose signatures differ from
    /// call to call.
    package var isRSA: Bool { EVP_PKEY_is_a(key, "RSA") == 1 }

    /// Size of the modulus or of the curve, in bits.
    package var bits: Int { Int(EVP_PKEY_get_bits(key)) }

    /// `true` if this is a P-256 key, the only curve of `ES256` (RFC 7518, 3.4). Keys of secp256k1 and Ed25519 have 256
    /// bits, too.
    package var isP256: Bool { curve == "prime256v1" }

    /// What the key is in OpenSSL's words, for example `secp256k1`, `ED25519` or `RSA`.
    package var kind: String {
        curve ?? EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "of an unknown type"
    }

    /// OpenSSL's name of the curve of an EC key; `nil` for other keys and for a curve without a name.
    private var curve: String? {
        var name = [CChar](repeating: 0, count: 80)
        guard EVP_PKEY_is_a(key, "EC") == 1, EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1 else {
            ERR_clear_error()
            return nil
        }
        return name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }

    /// Signs the bytes. RSA: PKCS#1 v1.5, as many bytes as the key has. EC: a DER `ECDSA-Sig-Value`.
    package func signature(over bytes: [UInt8], digest: DigestAlgorithm) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else {
            throw .openSSL(.unavailable, "cannot allocate a signature context")
        }
        defer { EVP_MD_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(key))
        var result = [UInt8](repeating: 0, count: max(length, 0))
        guard let implementation = digest.implementation,
            EVP_DigestSignInit(context, nil, implementation, nil, key) == 1,
            EVP_DigestSign(context, &result, &length, bytes, bytes.count) == 1
        else { throw .openSSL(.unavailable, "OpenSSL on this system cannot sign with this key and digest") }
        return Array(result.prefix(length))
    }

    /// Returns the 64 bytes r‖s of a JWS signature with `ES256`. Throws `keyRefused` unless this is a P-256 key.
    package func rawES256Signature(over bytes: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard isP256 else { throw CryptographyError(.keyRefused, "ES256 needs a P-256 key") }
        let encoded = try signature(over: bytes, digest: .sha256)
        let parts = encoded.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var position = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &position, buffer.count)
        }
        guard let parts else { throw .openSSL(.malformed, "not an ECDSA signature") }
        defer { ECDSA_SIG_free(parts) }
        var (r, s) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        guard BN_bn2binpad(ECDSA_SIG_get0_r(parts), &r, 32) == 32, BN_bn2binpad(ECDSA_SIG_get0_s(parts), &s, 32) == 32
        else { throw .openSSL(.malformed, "the ECDSA signature is too long") }
        return r + s
    }

    /// The public half as a DER `SubjectPublicKeyInfo`.
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
