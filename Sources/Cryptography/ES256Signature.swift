/// The signature format of a JWS with `ES256`: r and s, 32 bytes each, big-endian (RFC 7518, 3.4).
package enum ES256Signature {
    /// Size of the raw form in bytes.
    package static let rawSize = 64

    /// Converts a raw signature to the DER form that OpenSSL expects; `nil` unless there are exactly 64 bytes.
    ///
    /// The range of r and s is not checked here: the verification refuses zero and values from the curve's order
    /// upward.
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
