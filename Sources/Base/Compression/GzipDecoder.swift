/// Decodes gzip data (RFC 1952) that arrives in parts: one member or several. The header, the CRC-32 and the length of
/// each are checked.
package struct GzipDecoder {
    private enum Part {
        case fixedHeader, extraLength
        case extra(remaining: Int)
        /// The name or the comment, which ends in a zero.
        case text
        case headerCheck, blocks, trailer
    }

    /// What is left of the member, the next part last.
    private var parts = [Part.fixedHeader]
    private var inflater = Inflater()
    private var headerCheck = CRC32()
    private var check = CRC32()
    private var start = 0
    private var hasMember = false

    package init() {}

    package var isComplete: Bool {
        guard hasMember, case .fixedHeader = parts.last else { return false }
        return inflater.reader.byteCount == 0
    }

    package mutating func append(_ part: UnsafeRawBufferPointer) { inflater.append(part) }

    /// Decodes until something is needed, or the data is damaged. The output has at most `limit` bytes.
    package mutating func decode(into output: inout [UInt8], limit: Int) -> Inflater.InflateStop {
        do throws(Inflater.InflateStop) {
            while let part = parts.last {
                try decode(part, into: &output, limit)
                parts.removeLast()
                if parts.isEmpty { beginMember(at: output.count) }
            }
            return .damaged
        } catch {
            return error
        }
    }

    private mutating func beginMember(at start: Int) {
        (self.start, hasMember) = (start, true)
        (headerCheck, check) = (CRC32(), CRC32())
        inflater.restart()
        parts = [.fixedHeader]
    }

    /// Decodes a part of a member. If it throws, the part is to be decoded again.
    private mutating func decode(_ part: Part, into output: inout [UInt8], _ limit: Int) throws(Inflater.InflateStop) {
        switch part {
        case .fixedHeader: try decodeFixedHeader()
        case .extraLength:
            let length = try number(headerBytes(2))
            parts.insert(.extra(remaining: length), at: parts.endIndex - 1)
        case .extra(let remaining):
            let count = min(remaining, inflater.reader.byteCount)
            _ = try headerBytes(count)
            parts[parts.endIndex - 1] = .extra(remaining: remaining - count)
            guard remaining == count else { throw .needsInput }
        case .text: while try headerBytes(1) != [0] {}
        case .headerCheck:
            let sum = Int(headerCheck.value & 0xFFFF)
            guard try number(inflater.reader.takeBytes(2)) == sum else { throw .damaged }
        case .blocks:
            let before = output.count
            defer { check.add(output[before...]) }
            try inflater.inflate(into: &output, from: start, limit: limit)
        case .trailer:
            inflater.reader.alignToByte()
            let trailer = try number(inflater.reader.takeBytes(8))
            guard trailer & 0xFFFF_FFFF == Int(check.value), trailer >> 32 & 0xFFFF_FFFF == output.count - start else {
                throw .damaged
            }
        }
    }

    private mutating func decodeFixedHeader() throws(Inflater.InflateStop) {
        let header = Array(try headerBytes(10))
        let flags = header[3]
        // 8 is deflate, the only method. The highest flags are reserved.
        guard header.starts(with: [0x1F, 0x8B, 8]), flags & 0xE0 == 0 else { throw .damaged }
        let optional: [(flag: UInt8, part: Part)] = [(2, .headerCheck), (16, .text), (8, .text), (4, .extraLength)]
        parts.insert(contentsOf: [.trailer, .blocks] + optional.filter { flags & $0.flag != 0 }.map(\.part), at: 0)
    }

    private mutating func headerBytes(_ count: Int) throws(Inflater.InflateStop) -> ArraySlice<UInt8> {
        let bytes = try inflater.reader.takeBytes(count)
        headerCheck.add(bytes)
        return bytes
    }

    /// The number of these bytes, the lowest one first.
    private func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
}

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
