/// The cyclic redundancy check of gzip (RFC 1952, 8).
struct CRC32 {
    private static let table = (0..<256).map { (byte: UInt32) in
        (0..<8).reduce(byte) { value, _ in value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ value >> 1 }
    }

    private var register = UInt32.max

    var value: UInt32 { ~register }

    /// Adds bytes.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        let table = Self.table
        register = bytes.withUnsafeBufferPointer { bytes in
            bytes.reduce(register) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8 }
        }
    }
}
