/// The public keys that are allowed: RSA of 1024 to 4096 bits, and EC on P-256 or P-384.
///
/// The check reads the encoding only and runs before any arithmetic. So a key of a million bits, or a custom curve,
/// costs the server nothing.
enum PublicKeyPolicy {
    /// rsaEncryption, 1.2.840.113549.1.1.1
    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    /// id-ecPublicKey, 1.2.840.10045.2.1
    private static let ellipticCurve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    /// prime256v1, 1.2.840.10045.3.1.7
    private static let p256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    /// secp384r1, 1.3.132.0.34
    private static let p384: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]

    private typealias CheckResult = Result<Void, CryptographyError>

    /// Throws `keyRefused` if the key is weak; `unsupported` if it is larger, or of another algorithm or curve;
    /// `malformed` if the encoding is not a public key.
    static func check(_ info: BERElement, in bytes: borrowing Span<UInt8>) throws(CryptographyError) {
        let result: CheckResult
        do throws(BERError) {
            result = try evaluate(info, in: bytes)
        } catch {
            throw CryptographyError(.malformed, "public key: \(error)")
        }
        try result.get()
    }

    /// ```
    /// SubjectPublicKeyInfo ::= SEQUENCE { algorithm AlgorithmIdentifier, subjectPublicKey BIT STRING }
    /// AlgorithmIdentifier  ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY OPTIONAL }
    /// RSAPublicKey         ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }
    /// ```
    private static func evaluate(_ info: BERElement, in bytes: borrowing Span<UInt8>) throws(BERError) -> CheckResult {
        var fields = info.inside
        var algorithm = try fields.next(BERTag.sequence, in: bytes).inside
        let key = try fields.next(BERTag.bitString, in: bytes)
        let name = try algorithm.next(BERTag.objectIdentifier, in: bytes)
        if name.holds(rsa, in: bytes) {
            return try checkRSA(key, in: bytes)
        }
        if name.holds(ellipticCurve, in: bytes) {
            // A curve with explicit parameters instead of a name is a SEQUENCE here, and is refused like any other.
            let curve = try algorithm.next(in: bytes)
            let isSupported = curve.holds(p256, in: bytes) || curve.holds(p384, in: bytes)
            return curve.tag == BERTag.objectIdentifier && isSupported
                ? .success(()) : refused(.unsupported, "a curve other than P-256 and P-384")
        }
        return refused(.unsupported, "neither an RSA nor an elliptic curve key")
    }

    private static func checkRSA(_ key: BERElement, in bytes: borrowing Span<UInt8>) throws(BERError) -> CheckResult {
        guard key.content.count > 1, bytes[key.contentStart] == 0 else {
            throw BERError(.unexpectedTag, at: key.contentStart)
        }
        var outer = BERCursor(key.contentStart + 1..<key.contentEnd)
        var fields = try outer.next(BERTag.sequence, in: bytes).inside
        let modulus = bitWidth(try fields.next(BERTag.integer, in: bytes), in: bytes)
        let exponent = try fields.next(BERTag.integer, in: bytes)
        guard (1024...4096).contains(modulus) else {
            return refused(modulus < 1024 ? .keyRefused : .unsupported, "an RSA key of \(modulus) bits")
        }
        let exponentBits = bitWidth(exponent, in: bytes)
        guard (2...32).contains(exponentBits), bytes[exponent.contentEnd - 1] & 1 == 1 else {
            return refused(.keyRefused, "an RSA public exponent of \(exponentBits) bits, or an even one")
        }
        return .success(())
    }

    /// Returns the number of bits of a positive INTEGER without leading zeros; 0 for a negative or empty one.
    private static func bitWidth(_ integer: BERElement, in bytes: borrowing Span<UInt8>) -> Int {
        var position = integer.contentStart
        guard position < integer.contentEnd, bytes[position] & 0x80 == 0 else { return 0 }
        while position < integer.contentEnd, bytes[position] == 0 { position += 1 }
        guard position < integer.contentEnd else { return 0 }
        return (integer.contentEnd - position) * 8 - bytes[position].leadingZeroBitCount
    }

    private static func refused(_ code: CryptographyError.Code, _ reason: String) -> CheckResult {
        .failure(CryptographyError(code, reason))
    }
}
