/// The cyclic redundancy check of gzip (RFC 1952, 8), of eight bytes at a time.
struct CRC32 {
    /// What a byte adds to the check if so many others follow: 256 values for 0 others, then for 1, up to 7.
    private static let table = {
        var table = (0..<256).map { (byte: UInt32) in
            (0..<8).reduce(byte) { value, _ in value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ value >> 1 }
        }
        for index in 0..<7 << 8 { table.append(table[Int(table[index] & 0xFF)] ^ table[index] >> 8) }
        return table
    }()

    private var register = UInt32.max

    var value: UInt32 { ~register }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        register = Self.table.withUnsafeBufferPointer { table in
            bytes.withUnsafeBytes { bytes in
                var register = register
                var index = 0
                while bytes.count - index >= 8 {
                    var word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                    word ^= UInt64(register)
                    register = 0
                    for others in 0..<8 {
                        register ^= table[(7 - others) << 8 | Int(truncatingIfNeeded: word & 0xFF)]
                        word >>= 8
                    }
                    index += 8
                }
                for byte in bytes[index...] { register = table[Int((register ^ UInt32(byte)) & 0xFF)] ^ register >> 8 }
                return register
            }
        }
    }
}
