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
