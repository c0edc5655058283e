/// A prefix code of deflate data, defined by the length of each symbol's code (RFC 1951, 3.2.2).
///
/// A table has the symbol of every code of up to ``indexBits`` bits. Longer ones are rare and decoded bit by bit, so
/// that a block with a new code does not cost more than its bytes are worth.
struct PrefixCode {
    private static let indexBits = 10
    private static let maximumLength = 15

    /// By the next bits: the entry of the code that they begin with; 0 for a longer one.
    private let table: [UInt16]
    private let mask: UInt64
    private let counts: [Int]
    /// The symbols in the order of their codes.
    private let symbols: [UInt16]

    /// Returns `nil` if there are more codes than these lengths allow.
    ///
    /// - Parameter lengths: The length of the code of each symbol, at most 15; 0 for a symbol without a code.
    init?(lengths: some Collection<Int>) {
        var counts = [Int](repeating: 0, count: Self.maximumLength + 1)
        for length in lengths { counts[length] += 1 }
        counts[0] = 0
        var free = 1
        var places = [Int](repeating: 0, count: Self.maximumLength + 2)
        for length in 1...Self.maximumLength {
            free = 2 * free - counts[length]
            guard free >= 0 else { return nil }
            places[length + 1] = places[length] + counts[length]
        }
        var symbols = [UInt16](repeating: 0, count: places[Self.maximumLength + 1])
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[places[length]] = UInt16(symbol)
            places[length] += 1
        }
        (self.counts, self.symbols) = (counts, symbols)
        table = Self.table(counts, symbols)
        mask = UInt64(table.count - 1)
    }

    private static func table(_ counts: [Int], _ symbols: [UInt16]) -> [UInt16] {
        let bits = min(counts.lastIndex { $0 > 0 } ?? 0, indexBits)
        var table = [UInt16](repeating: 0, count: 1 << bits)
        var (code, index) = (0, 0)
        for length in 1..<bits + 1 {
            for _ in 0..<counts[length] {
                // The first bit of a code is the lowest one of the index.
                var place = (0..<length).reduce(0) { $0 << 1 | code >> $1 & 1 }
                while place < table.count {
                    table[place] = symbols[index] << 4 | UInt16(length)
                    place += 1 << length
                }
                code += 1
                index += 1
            }
            code <<= 1
        }
        return table
    }

    /// Returns the symbol that the bits begin with, and in its lowest four bits the length of its code; 0 if they begin
    /// with no code.
    @inline(__always)
    func entry(of bits: UInt64) -> UInt16 {
        let entry = table[Int(bits & mask)]
        return entry == 0 ? longEntry(of: bits) : entry
    }

    private func longEntry(of bits: UInt64) -> UInt16 {
        var (code, first, index) = (0, 0, 0)
        for length in 1...Self.maximumLength {
            code |= Int(bits >> (length - 1) & 1)
            let count = counts[length]
            if code - first < count { return symbols[index + code - first] << 4 | UInt16(length) }
            index += count
            (code, first) = (code << 1, (first + count) << 1)
        }
        return 0
    }
}

/// Reads bits, the lowest one of each byte first, and bytes of data that arrives in parts.
struct BitReader {
    private var input: [UInt8] = []
    private var position = 0
    /// The next bits, the first one lowest. Those above ``count`` are zero or those of the bytes that follow.
    private(set) var bits: UInt64 = 0
    private(set) var count = 0

    mutating func append(_ part: UnsafeRawBufferPointer) {
        unloadBytes()
        input.removeSubrange(..<position)
        position = 0
        input.append(contentsOf: part)
    }

    /// Returns whole bytes to the input.
    private mutating func unloadBytes() {
        position -= count / 8
        count %= 8
        bits &= 1 << count - 1
    }

    // MARK: - Bits

    /// Loads 56 bits or more, or all that there are.
    @inline(__always)
    mutating func load() {
        if input.count - position >= 8 {
            let word = input.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: UInt64.self) }
            bits |= UInt64(littleEndian: word) << count
            position += (63 - count) / 8
            count |= 56
        } else {
            while count <= 56, position < input.count {
                bits |= UInt64(input[position]) << count
                count += 8
                position += 1
            }
        }
    }

    @inline(__always)
    mutating func skip(_ number: Int) {
        bits >>= number
        count -= number
    }

    /// Returns the next bits, at most 32.
    mutating func take(_ number: Int) throws(Inflater.InflateStop) -> Int {
        if count < number { load() }
        guard count >= number else { throw .needsInput }
        defer { skip(number) }
        return Int(bits & (1 << number - 1))
    }

    // MARK: - Bytes

    /// Skips the rest of a byte. What is read next is a byte.
    mutating func alignToByte() {
        skip(count % 8)
        unloadBytes()
    }

    /// The number of bytes that can be read. To be used after ``alignToByte()``, as what follows.
    var byteCount: Int { input.count - position }

    mutating func takeBytes(_ number: Int) throws(Inflater.InflateStop) -> ArraySlice<UInt8> {
        guard byteCount >= number else { throw .needsInput }
        defer { position += number }
        return input[position..<position + number]
    }
}
