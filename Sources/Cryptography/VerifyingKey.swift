import ReceiptBridgeCOpenSSL

/// A public key that ``PublicKeyPolicy`` allows: RSA of 1024 to 4096 bits, P-256 or P-384.
///
/// `@unchecked Sendable`: the EVP_PKEY is never changed after `init`, and OpenSSL allows one key to be used by many
/// threads if each has its own context (EVP_PKEY(7)), which the pool ensures.
package final class VerifyingKey: @unchecked Sendable {
    private let key: OpaquePointer
    private let contexts = VerificationContextPool()

    init(owning key: OpaquePointer) {
        self.key = key
        isRSA = EVP_PKEY_is_a(key, "RSA") == 1
    }

    /// Reads a DER SubjectPublicKeyInfo (RFC 5280, 4.1).
    package convenience init(publicKeyInfo: borrowing Span<UInt8>) throws(CryptographyError) {
        let info: BERElement
        do throws(BERError) {
            var cursor = BERCursor(0..<publicKeyInfo.count)
            info = try cursor.next(BERTag.sequence, in: publicKeyInfo)
            try cursor.finish()
        } catch {
            throw CryptographyError(.malformed, "public key: \(error)")
        }
        try PublicKeyPolicy.check(info, in: publicKeyInfo)
        let parsed = publicKeyInfo.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_PUBKEY(nil, &start, buffer.count)
        }
        guard let parsed else { throw .openSSL(.malformed, "the public key cannot be parsed") }
        self.init(owning: parsed)
    }

    /// Creates an RSA key from its numbers, most significant byte first. This takes a tenth of the time of OpenSSL's
    /// decoder. The caller has checked them with ``PublicKeyPolicy``. Throws `malformed` if OpenSSL does not accept
    /// them.
    convenience init(
        modulus: borrowing Span<UInt8>, exponent: borrowing Span<UInt8>
    ) throws(CryptographyError) {
        // OpenSSL expects numbers in the byte order of this machine.
        func native(_ number: borrowing Span<UInt8>) -> [UInt8] {
            let bytes = number.withUnsafeBufferPointer { [UInt8]($0) }
            return UInt16(1).littleEndian == 1 ? bytes.reversed() : bytes
        }
        var (modulus, exponent) = (native(modulus), native(exponent))
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw .openSSL(.unavailable, "RSA") }
        defer { EVP_PKEY_CTX_free(context) }
        // The parameters keep pointers to their names, so the names are C strings that outlive the call.
        let key = OSSL_PKEY_PARAM_RSA_N.withCString { modulusName in
            OSSL_PKEY_PARAM_RSA_E.withCString { exponentName in
                modulus.withUnsafeMutableBufferPointer { modulus in
                    exponent.withUnsafeMutableBufferPointer { exponent -> OpaquePointer? in
                        var parameters = [
                            OSSL_PARAM_construct_BN(modulusName, modulus.baseAddress, modulus.count),
                            OSSL_PARAM_construct_BN(exponentName, exponent.baseAddress, exponent.count),
                            OSSL_PARAM_construct_end(),
                        ]
                        var key: OpaquePointer?
                        guard EVP_PKEY_fromdata_init(context) == 1,
                            EVP_PKEY_fromdata(context, &key, bridge_public_key_selection(), &parameters) == 1
                        else { return nil }
                        return key
                    }
                }
            }
        }
        guard let key else { throw .openSSL(.malformed, "the public key cannot be used") }
        self.init(owning: key)
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// `true` if this is a P-256 key, the only curve of `ES256` (RFC 7518, 3.4).
    package var isP256: Bool { EVP_PKEY_is_a(key, "EC") == 1 && bits == 256 }

    /// `true` if this is an RSA key, whose signatures are PKCS#1 v1.5.
    package let isRSA: Bool

    /// Size of the modulus or of the curve, in bits.
    var bits: Int { Int(EVP_PKEY_get_bits(key)) }

    /// Throws `badSignature` unless `signature` is valid for `message`: PKCS#1 v1.5 for RSA, a DER ECDSA-Sig-Value
    /// for P-256 and P-384.
    package func verify(
        _ signature: borrowing Span<UInt8>, over message: borrowing Span<UInt8>, digest: DigestAlgorithm
    ) throws(CryptographyError) {
        let context: VerificationContext
        if let idle = contexts.checkOut(digest) { context = idle } else { context = try makeContext(digest) }
        let isValid = try context.isValid(signature, over: message)
        contexts.checkIn(context)
        guard isValid else {
            throw CryptographyError(.badSignature, "the signature does not verify with the signer's key")
        }
    }

    /// Returns what an RSA signature encloses: a DigestInfo, which names its digest (RFC 8017, 9.2). Returns `nil` if
    /// this key did not make the signature: nobody else can make one with a valid padding.
    package func digestInfo(in signature: borrowing Span<UInt8>) -> [UInt8]? {
        guard isRSA, let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_verify_recover_init(context) == 1,
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
        else { return nil }
        let info = signature.withUnsafeBufferPointer { signature in
            [UInt8](unsafeUninitializedCapacity: (bits + 7) / 8) { buffer, count in
                var size = buffer.count
                let done = EVP_PKEY_verify_recover(
                    context, buffer.baseAddress, &size, signature.baseAddress, signature.count)
                count = done == 1 ? size : 0
            }
        }
        if info.isEmpty { ERR_clear_error() }
        return info.isEmpty ? nil : info
    }

    func makeContext(_ digest: DigestAlgorithm) throws(CryptographyError) -> VerificationContext {
        try VerificationContext(key: key, digest: digest)
    }
}

/// The signature format of a JWS with `ES256`: r and s, 32 bytes each, big-endian (RFC 7518, 3.4).
package enum ES256Signature {
    /// Size of the raw form in bytes.
    static let rawSize = 64

    /// Converts a raw signature to the DER form that OpenSSL expects; `nil` unless there are exactly 64 bytes. The
    /// range of r and s is not checked here: the verification refuses zero and values from the curve's order upward.
    ///
    ///     ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }
    package static func der(raw: borrowing Span<UInt8>) -> [UInt8]? {
        guard raw.count == rawSize else { return nil }
        var encoded: [UInt8] = [BERTag.sequence, 0]
        encoded.reserveCapacity(rawSize + 8)
        append(raw.extracting(0..<32), to: &encoded)
        append(raw.extracting(32..<64), to: &encoded)
        encoded[1] = UInt8(encoded.count - 2)
        return encoded
    }

    /// Appends the shortest encoding of a positive INTEGER.
    private static func append(_ magnitude: borrowing Span<UInt8>, to encoded: inout [UInt8]) {
        var start = 0
        while start < magnitude.count - 1, magnitude[start] == 0 { start += 1 }
        let isPadded = magnitude[start] >= 0x80
        encoded.append(BERTag.integer)
        encoded.append(UInt8(magnitude.count - start + (isPadded ? 1 : 0)))
        if isPadded { encoded.append(0) }
        for index in start..<magnitude.count { encoded.append(magnitude[index]) }
    }
}
