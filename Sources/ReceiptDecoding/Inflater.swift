/// Decompresses gzip (RFC 1952) and zlib (RFC 1950) data, both of which contain deflate blocks (RFC 1951).
///
/// Data that ends early or is damaged gives the bytes before the damage. Checksums are not checked, because the
/// signature of the receipt is. The output is limited in proportion to the input: receipts are hardly compressible, and
/// their base64 and JSON around them by a factor of less than 10.
package struct Inflater {
    /// The maximum size of the output for each byte of input.
    private static let maximumRatio = 64

    private let input: [UInt8]
    private var position: Int
    /// Bits of the input that were loaded but not used, the next one lowest.
    private var buffer = 0
    private var bufferedBits = 0
    private var output: [UInt8] = []
    private let limit: Int

    /// Returns the decompressed bytes; `nil` if the data does not begin as gzip or zlib data, or contains nothing.
    package static func inflate(_ data: [UInt8]) -> [UInt8]? {
        guard let start = gzipHeaderEnd(data) ?? zlibHeaderEnd(data) else { return nil }
        var inflater = Inflater(data, from: start)
        while let header = inflater.bits(3) {
            let isComplete =
                switch header >> 1 {
                case 0: inflater.copyStoredBlock()
                case 1: inflater.inflateBlock(Self.fixedLiterals, Self.fixedDistances)
                case 2: inflater.inflateDynamicBlock()
                default: false
                }
            if !isComplete || header & 1 == 1 { break }
        }
        return inflater.output.isEmpty ? nil : inflater.output
    }

    private init(_ data: [UInt8], from start: Int) {
        (input, position) = (data, start)
        limit = min(data.count * Self.maximumRatio, ReceiptInput.maximumTextSize)
    }

    // MARK: - Headers

    /// Returns the offset of the first block after a gzip header; `nil` for other data.
    private static func gzipHeaderEnd(_ data: [UInt8]) -> Int? {
        guard data.starts(with: [0x1F, 0x8B, 8]), data.count > 10 else { return nil }
        let flags = data[3]
        var end = 10
        if flags & 4 != 0, data.count > 12 { end += 2 + Int(data[10]) + Int(data[11]) << 8 }
        // The file name and the comment, each of which ends in a zero.
        for flag: UInt8 in [8, 16] where flags & flag != 0 {
            guard end < data.count, let zero = data[end...].firstIndex(of: 0) else { return nil }
            end = zero + 1
        }
        return flags & 2 != 0 ? end + 2 : end
    }

    /// Returns the offset of the first block after a zlib header of any level with the usual window; `nil` for other
    /// data.
    private static func zlibHeaderEnd(_ data: [UInt8]) -> Int? {
        guard data.count > 6, data[0] == 0x78, [0x01, 0x5E, 0x9C, 0xDA].contains(data[1]) else { return nil }
        return 2
    }

    // MARK: - Bits

    /// Returns the next bits, the first one lowest; `nil` at the end of the input.
    private mutating func bits(_ count: Int) -> Int? {
        while bufferedBits < count {
            guard position < input.count else { return nil }
            buffer |= Int(input[position]) << bufferedBits
            bufferedBits += 8
            position += 1
        }
        defer {
            buffer >>= count
            bufferedBits -= count
        }
        return buffer & (1 << count - 1)
    }

    /// A prefix code, defined by the length of each symbol's code (RFC 1951, 3.2.2).
    private struct PrefixCode {
        /// The number of codes of each length.
        private(set) var counts = [Int](repeating: 0, count: 16)
        /// The symbols in the order of their codes.
        private(set) var symbols: [Int] = []

        init(lengths: some Collection<Int>) {
            for length in lengths { counts[length] += 1 }
            counts[0] = 0
            let used = lengths.enumerated().filter { $0.element > 0 }
            symbols = used.sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }.map(\.offset)
        }
    }

    /// Reads one symbol; `nil` at the end of the input, and for a code that stands for no symbol.
    private mutating func symbol(_ code: PrefixCode) -> Int? {
        var (value, first, index) = (0, 0, 0)
        for length in 1...15 {
            guard let bit = bits(1) else { return nil }
            value |= bit
            let count = code.counts[length]
            if value - first < count {
                let found = index + value - first
                return value >= first && found < code.symbols.count ? code.symbols[found] : nil
            }
            index += count
            (value, first) = (value << 1, (first + count) << 1)
        }
        return nil
    }

    // MARK: - Blocks

    private static let fixedLiterals = PrefixCode(
        lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    private static let fixedDistances = PrefixCode(lengths: [Int](repeating: 5, count: 30))
    /// The order in which the lengths of the code lengths are stored (RFC 1951, 3.2.7).
    private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    /// The smallest length of each symbol from 257, and its number of extra bits (RFC 1951, 3.2.5).
    private static let lengths = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]

    private mutating func copyStoredBlock() -> Bool {
        (buffer, bufferedBits) = (0, 0)
        guard let count = bits(16), bits(16) == ~count & 0xFFFF else { return false }
        let end = min(position + count, input.count)
        let isComplete = end == position + count && output.count + count <= limit
        output += input[position..<end].prefix(max(limit - output.count, 0))
        position = end
        return isComplete
    }

    private mutating func inflateDynamicBlock() -> Bool {
        guard let literals = bits(5), let distances = bits(5), let stored = bits(4) else { return false }
        var codeLengths = [Int](repeating: 0, count: 19)
        for index in 0..<stored + 4 {
            guard let length = bits(3) else { return false }
            codeLengths[Self.lengthOrder[index]] = length
        }
        let code = PrefixCode(lengths: codeLengths)
        let total = literals + 257 + distances + 1
        var lengths: [Int] = []
        while lengths.count < total {
            guard let symbol = symbol(code) else { return false }
            switch symbol {
            case 16:
                guard let last = lengths.last, let count = bits(2) else { return false }
                lengths += repeatElement(last, count: count + 3)
            case 17, 18:
                guard let count = bits(symbol == 17 ? 3 : 7) else { return false }
                lengths += repeatElement(0, count: count + (symbol == 17 ? 3 : 11))
            default: lengths.append(symbol)
            }
        }
        let split = literals + 257
        return lengths.count == total
            && inflateBlock(PrefixCode(lengths: lengths[..<split]), PrefixCode(lengths: lengths[split...]))
    }

    /// Decompresses a block up to its end; returns `false` if it is damaged, incomplete, or exceeds the limit.
    private mutating func inflateBlock(_ literals: PrefixCode, _ distances: PrefixCode) -> Bool {
        while output.count < limit {
            guard let symbol = symbol(literals) else { return false }
            guard symbol != 256 else { return true }
            guard symbol > 256 else {
                output.append(UInt8(symbol))
                continue
            }
            guard symbol - 257 < Self.lengths.count, let extra = bits(Self.lengthBits[symbol - 257]),
                let place = self.symbol(distances), place < 30
            else { return false }
            // From symbol 4 on, two symbols share a number of extra bits.
            let distanceBits = max(place / 2 - 1, 0)
            guard let low = bits(distanceBits) else { return false }
            let distance = place < 4 ? place + 1 : (2 + place % 2) << distanceBits + low + 1
            guard distance <= output.count else { return false }
            for _ in 0..<Self.lengths[symbol - 257] + extra { output.append(output[output.count - distance]) }
        }
        return false
    }
}
