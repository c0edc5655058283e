/// Decompresses deflate data (RFC 1951) that arrives in parts.
package struct Inflater {
    /// Why decompression stopped before the end of the data.
    package enum InflateStop: Error {
        case needsInput
        /// The output has its maximum size, and there is more of it.
        case needsRoom
        case damaged
    }

    private enum Block {
        case none
        case stored(remaining: Int)
        case compressed(literals: PrefixCode, distances: PrefixCode)
    }

    /// Output is written into bytes that were added to it, so many at a time.
    private static let stride = [UInt8](repeating: 0, count: 16 << 10)

    var reader = BitReader()
    private var block = Block.none
    private var isLast = false
    /// What is to be copied from the output before the next symbol.
    private var copy = (length: 0, distance: 0)

    package init() {}

    package mutating func append(_ part: UnsafeRawBufferPointer) { reader.append(part) }

    /// Decompresses until the end of the data. The output has at most `limit` bytes, of which those of this data begin
    /// at `start`.
    package mutating func inflate(into output: inout [UInt8], from start: Int = 0, limit: Int) throws(InflateStop) {
        while true {
            var end = output.count
            let room = min(max(limit - end, 0), Self.stride.count)
            output.append(contentsOf: Self.stride[..<room])
            defer { output.removeLast(output.count - end) }
            do throws(InflateStop) {
                return try output.withUnsafeMutableBufferPointer { bytes throws(InflateStop) in
                    try inflate(into: bytes[start...], &end)
                }
            } catch .needsRoom where end < limit {}
        }
    }

    /// Decompresses into the output, which is that of this data and the room behind it.
    private mutating func inflate(
        into output: Slice<UnsafeMutableBufferPointer<UInt8>>, _ end: inout Int
    ) throws(InflateStop) {
        while true {
            switch block {
            case .none: if isLast { return } else { try beginBlock() }
            case .stored(let remaining):
                let count = min(remaining, reader.byteCount, output.endIndex - end)
                for byte in try reader.takeBytes(count) {
                    output.base[end] = byte
                    end += 1
                }
                block = remaining > count ? .stored(remaining: remaining - count) : .none
                guard remaining == count else { throw end < output.endIndex ? .needsInput : .needsRoom }
            case .compressed(let literals, let distances):
                try copySymbols(literals, distances, to: output, &end)
                block = .none
            }
        }
    }

    /// Begins other data, which follows in the input.
    mutating func restart() { (block, isLast) = (.none, false) }

    // MARK: - Blocks

    /// Reads the beginning of a block; nothing if it is not complete.
    private mutating func beginBlock() throws(InflateStop) {
        let before = reader
        do throws(InflateStop) {
            let header = try reader.take(3)
            switch header >> 1 {
            case 0: block = try storedBlock()
            case 1: block = .compressed(literals: Self.fixedLiterals, distances: Self.fixedDistances)
            case 2: block = try dynamicBlock()
            default: throw .damaged
            }
            isLast = header & 1 == 1
        } catch {
            if error == .needsInput { reader = before }
            throw error
        }
    }

    private mutating func storedBlock() throws(InflateStop) -> Block {
        reader.alignToByte()
        let sizes = try reader.takeBytes(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        guard sizes & 0xFFFF == ~(sizes >> 16) & 0xFFFF else { throw .damaged }
        return .stored(remaining: sizes & 0xFFFF)
    }

    private static let fixedLiterals = PrefixCode(
        lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })!
    private static let fixedDistances = PrefixCode(lengths: [Int](repeating: 5, count: 30))!
    /// The order in which the lengths of the code lengths are stored (RFC 1951, 3.2.7).
    private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private mutating func dynamicBlock() throws(InflateStop) -> Block {
        let literalCount = try reader.take(5) + 257
        let total = try literalCount + reader.take(5) + 1
        var codeLengths = [Int](repeating: 0, count: 19)
        for index in 0..<(try reader.take(4)) + 4 { codeLengths[Self.lengthOrder[index]] = try reader.take(3) }
        guard let code = PrefixCode(lengths: codeLengths) else { throw .damaged }
        var lengths: [Int] = []
        while lengths.count < total {
            let symbol = try symbol(of: code)
            switch symbol {
            case 16:
                guard let last = lengths.last else { throw .damaged }
                lengths += repeatElement(last, count: try reader.take(2) + 3)
            case 17: lengths += repeatElement(0, count: try reader.take(3) + 3)
            case 18: lengths += repeatElement(0, count: try reader.take(7) + 11)
            default: lengths.append(symbol)
            }
        }
        guard lengths.count == total, let literals = PrefixCode(lengths: lengths[..<literalCount]),
            let distances = PrefixCode(lengths: lengths[literalCount...])
        else { throw .damaged }
        return .compressed(literals: literals, distances: distances)
    }

    private mutating func symbol(of code: PrefixCode) throws(InflateStop) -> Int {
        reader.load()
        let entry = code.entry(of: reader.bits)
        try require(entry, reader.count)
        reader.skip(Int(entry & 15))
        return Int(entry >> 4)
    }

    // MARK: - Symbols

    /// - Parameter count: The number of bits that the entry was looked up by.
    @inline(__always)
    private func require(_ entry: UInt16, _ count: Int) throws(InflateStop) {
        guard entry != 0, entry & 15 <= count else { throw count < 15 ? .needsInput : .damaged }
    }

    private mutating func copySymbols(
        _ literals: PrefixCode, _ distances: PrefixCode, to output: Slice<UnsafeMutableBufferPointer<UInt8>>,
        _ end: inout Int
    ) throws(InflateStop) {
        while true {
            if copy.length > 0 { try copyOutput(output, &end) }
            reader.load()
            let entry = literals.entry(of: reader.bits)
            try require(entry, reader.count)
            if entry < 256 << 4 {
                guard end < output.endIndex else { throw .needsRoom }
                output.base[end] = UInt8(truncatingIfNeeded: entry >> 4)
                end += 1
                reader.skip(Int(entry & 15))
            } else if entry >> 4 == 256 {
                return reader.skip(Int(entry & 15))
            } else {
                try readCopy(entry, distances)
                guard copy.distance <= end - output.startIndex else { throw .damaged }
            }
        }
    }

    /// Reads a length and a distance (RFC 1951, 3.2.5), of at most 48 bits together; nothing if they are not complete.
    @inline(__always)
    private mutating func readCopy(_ entry: UInt16, _ distances: PrefixCode) throws(InflateStop) {
        var used = Int(entry & 15)
        /// Returns bits that follow, which may not be complete.
        func take(_ number: Int) -> Int {
            defer { used += number }
            return Int(reader.bits >> used & (1 << number - 1))
        }
        let symbol = Int(entry >> 4) - 257
        guard symbol <= 28 else { throw .damaged }
        // From symbol 8 on, four lengths share a number of extra bits, and from 4 on two distances.
        let lengthBits = symbol < 8 || symbol == 28 ? 0 : symbol / 4 - 1
        let base = symbol == 28 ? 258 : symbol < 8 ? symbol + 3 : (4 + symbol % 4) << lengthBits + 3
        let length = base + take(lengthBits)
        let place = distances.entry(of: reader.bits >> used)
        try require(place, reader.count - used)
        used += Int(place & 15)
        let distance = Int(place >> 4)
        guard distance < 30 else { throw .damaged }
        let distanceBits = max(distance / 2 - 1, 0)
        copy.distance = distance < 4 ? distance + 1 : (2 + distance % 2) << distanceBits + take(distanceBits) + 1
        guard used <= reader.count else { throw .needsInput }
        copy.length = length
        reader.skip(used)
    }

    @inline(__always)
    private mutating func copyOutput(
        _ output: Slice<UnsafeMutableBufferPointer<UInt8>>, _ end: inout Int
    ) throws(InflateStop) {
        let count = min(copy.length, output.endIndex - end)
        guard let target = output.base.baseAddress.map({ $0 + end }) else { throw .needsRoom }
        let source = target - copy.distance
        switch copy.distance {
        case 1: target.update(repeating: source.pointee, count: count)
        case count...: target.update(from: source, count: count)
        default: for index in 0..<count { target[index] = source[index] }
        }
        end += count
        copy.length -= count
        guard copy.length == 0 else { throw .needsRoom }
    }
}
