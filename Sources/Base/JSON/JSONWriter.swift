/// Writes compact JSON directly into a byte array, without intermediate values. Members appear in the order of the
/// calls.
///
/// The caller is responsible for the grammar: a key before each member, and every container closed. The writer adds
/// the commas. `/` is not escaped, as in Apple's responses. This is performance-critical code, because a response has
/// thousands of values.
///
/// It is `public` and `@inlinable` because the compiler does not inline `package` functions into other modules
/// (BER.swift).
public struct JSONWriter: ~Copyable {
    /// Memory for the text, of which the first ``used`` bytes have been written. An array with a count of its own is
    /// quicker than appending: a piece of a text is one comparison and one copy. The bytes after them are not
    /// initialized, because a response can have hundreds of thousands, and they are never read.
    @usableFromInline var memory: [UInt8]
    @usableFromInline var used = 0

    /// The capacity is the approximate size of the text in bytes.
    @inlinable public init(reserving capacity: Int = 256) {
        memory = [UInt8](unsafeUninitializedCapacity: max(capacity, 16)) { $1 = $0.count }
    }

    @inlinable public var count: Int { used }

    @inlinable public consuming func finish() -> [UInt8] {
        memory.removeLast(memory.count - count)
        return memory
    }

    /// Lets a closure write at most `maximum` bytes at the end of the text. The closure returns the number of bytes
    /// that it wrote.
    @inlinable @inline(__always)
    mutating func write(atMost maximum: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
        if memory.count - count < maximum { grow(by: maximum) }
        let start = count
        used += memory.withUnsafeMutableBufferPointer {
            body(UnsafeMutableBufferPointer(rebasing: $0[start..<start + maximum]))
        }
    }

    @usableFromInline mutating func grow(by minimum: Int) {
        let written = used
        let larger = [UInt8](unsafeUninitializedCapacity: 2 * memory.count + minimum) { output, size in
            _ = memory.withUnsafeBufferPointer { output.initialize(fromContentsOf: $0[..<written]) }
            size = output.count
        }
        memory = larger
    }

    @inlinable public mutating func beginObject() { open(0x7B) }
    @inlinable public mutating func endObject() { byte(0x7D) }
    @inlinable public mutating func beginArray() { open(0x5B) }
    @inlinable public mutating func endArray() { byte(0x5D) }

    @inlinable public mutating func key(_ key: JSONKey) { member(key.bytes) }

    /// Writes the key of the next value, if it is not known in advance.
    @inlinable public mutating func key(_ text: String) {
        separate()
        quoted(text)
        byte(0x3A)
    }

    @inlinable public mutating func key(utf8: [UInt8]) {
        value(utf8: utf8)
        byte(0x3A)
    }

    @inlinable public mutating func value(_ text: String) {
        separate()
        quoted(text)
    }

    @inlinable public mutating func value(utf8: [UInt8]) {
        separate()
        byte(0x22)
        utf8.withUnsafeBufferPointer { characters(utf8: $0) }
        byte(0x22)
    }

    /// Writes a JSON number with all of its 64 bits.
    @inlinable public mutating func value(_ number: Int64) {
        separate()
        digits(number)
    }

    @inlinable public mutating func value(_ flag: Bool) {
        separate()
        ascii(flag ? "true" : "false")
    }

    @inlinable public mutating func null() {
        separate()
        ascii("null")
    }

    /// Writes one or more values that are already encoded, with commas between them; writes nothing if `json` is
    /// empty.
    @inlinable public mutating func values(json: some Collection<UInt8>) {
        guard !json.isEmpty else { return }
        separate()
        let done: Void? = json.withContiguousStorageIfAvailable { raw($0) }
        if done == nil { raw(Array(json)) }
    }

    @inlinable mutating func open(_ bracket: UInt8) {
        separate()
        byte(bracket)
    }

    /// Writes a comma, unless the next value is the first in its container or follows a key.
    @inlinable public mutating func separate() {
        guard count > 0 else { return }
        switch memory[count - 1] {
        case 0x7B, 0x5B, 0x3A: break
        default: byte(0x2C)
        }
    }
}

/// Pieces of a value, for callers that encode the constant parts of their members once. The pieces together must be
/// valid JSON.
extension JSONWriter {
    /// Writes the encoded beginning of a member: `,"key":` and possibly more. The comma is dropped for the first member
    /// of an object. Returns the offset of the first byte after the comma.
    @discardableResult @inlinable
    public mutating func member(_ beginning: [UInt8]) -> Int { beginning.withUnsafeBufferPointer { member($0) } }

    /// The beginning is not empty.
    @discardableResult @inlinable @inline(__always)
    public mutating func member(_ beginning: UnsafeBufferPointer<UInt8>) -> Int {
        let position = used
        let comma = position > 0 && memory[position - 1] == 0x7B ? 1 : 0
        raw(UnsafeBufferPointer(rebasing: beginning[comma...]))
        return position + 1 - comma
    }

    @inlinable
    public mutating func raw(_ piece: [UInt8]) { piece.withUnsafeBufferPointer { raw($0) } }

    @inlinable @inline(__always)
    public mutating func raw(_ piece: UnsafeBufferPointer<UInt8>) {
        write(atMost: piece.count) { output in
            if let target = output.baseAddress, let source = piece.baseAddress {
                target.update(from: source, count: piece.count)
            }
            return piece.count
        }
    }

    /// Writes bytes that were written before once more.
    @inlinable
    public mutating func again(_ range: Range<Int>) {
        precondition(range.upperBound <= count)
        if memory.count - count < range.count { grow(by: range.count) }
        let start = count
        memory.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            (base + start).update(from: base + range.lowerBound, count: range.count)
        }
        used += range.count
    }

    /// Writes ASCII characters that need no escaping, without quotes.
    @inlinable
    public mutating func ascii(_ text: StaticString) {
        raw(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable
    public mutating func byte(_ byte: UInt8) {
        if memory.count == count { grow(by: 1) }
        memory[count] = byte
        used += 1
    }

    /// Writes decimal digits, with `-` for a negative number.
    @inlinable public mutating func digits(_ number: Int64) {
        if number < 0 { byte(0x2D) }
        let (high, low) = number.magnitude.quotientAndRemainder(dividingBy: 100_000_000)
        guard high > 0 else { return leadingDigits(low) }
        let (highest, middle) = high.quotientAndRemainder(dividingBy: 100_000_000)
        if highest > 0 {
            leadingDigits(highest)
            word(DecimalDigits.eight(UInt32(truncatingIfNeeded: middle)), count: 8)
        } else {
            leadingDigits(middle)
        }
        word(DecimalDigits.eight(UInt32(truncatingIfNeeded: low)), count: 8)
    }

    /// Writes a number below 100,000,000 without zeros in front.
    @inlinable @inline(__always)
    mutating func leadingDigits(_ number: UInt64) {
        let digits = DecimalDigits.eight(UInt32(truncatingIfNeeded: number))
        // The first byte that is not `0`, or the last one.
        let zeros = min((digits ^ 0x3030_3030_3030_3030).trailingZeroBitCount / 8, 7)
        word(digits >> (8 * UInt64(zeros)), count: 8 - zeros)
    }

    /// Writes the lowest bytes of a word, at most eight.
    @inlinable @inline(__always)
    mutating func word(_ bytes: UInt64, count: Int) {
        write(atMost: 8) { output in
            UnsafeMutableRawBufferPointer(output).storeBytes(of: bytes.littleEndian, as: UInt64.self)
            return count
        }
    }

    @inlinable
    public mutating func overwrite(_ range: Range<Int>, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        precondition(range.upperBound <= count)
        memory.withUnsafeMutableBufferPointer { body(UnsafeMutableBufferPointer(rebasing: $0[range])) }
    }
}

/// A key that is encoded once for ``JSONWriter``: with comma, quotes, escapes and colon.
public struct JSONKey: Sendable {
    public let bytes: [UInt8]

    public init(_ text: String) {
        var writer = JSONWriter(reserving: text.utf8.count + 4)
        writer.byte(0x2C)
        writer.quoted(text)
        writer.byte(0x3A)
        bytes = writer.finish()
    }
}
