/// The first message of a TLS client in bytes (RFC 5246, section 7.4.1.2). It imitates old clients, which no current
/// library can.
enum ClientHello {
    /// Returns a record with a complete ClientHello: P-256 and x25519, ECDSA and RSA with SHA-256, old and new
    /// ciphers.
    ///
    /// - Parameters:
    ///   - version: The newest version that the client supports, `0x0303` for TLS 1.2.
    ///   - protocols: The protocols of the ALPN extension.
    static func record(
        version: UInt16, protocols: [String] = [],
        ciphers: [UInt16] = [0xC02B, 0xC02F, 0xC009, 0xC013, 0x002F, 0x0035]
    ) -> [UInt8] {
        var extensions =
            field(0x000A, list(two: [0x00, 0x1D, 0x00, 0x17])) + field(0x000B, [1, 0])
            + field(0x000D, list(two: [0x04, 0x03, 0x04, 0x01]))
        if !protocols.isEmpty {
            extensions += field(0x0010, list(two: protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }))
        }
        let body =
            pair(version) + [UInt8](repeating: 7, count: 32) + [0] + list(two: ciphers.flatMap(pair)) + [1, 0]
            + list(two: extensions)
        let message = [1, 0] + list(two: body)
        return [22, 3, 1] + list(two: message)
    }

    private static func pair(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    /// Prefixes the list with its length in two bytes.
    private static func list(two bytes: [UInt8]) -> [UInt8] { pair(UInt16(bytes.count)) + bytes }

    private static func field(_ type: UInt16, _ value: [UInt8]) -> [UInt8] { pair(type) + list(two: value) }
}
