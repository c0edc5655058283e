/// Writes compact JSON directly into a byte array, without intermediate values. Members appear in the order of the
/// calls.
///
/// The caller is responsible for the grammar: a key before each member, and every container closed. The writer adds
/// the commas. `/` is not escaped, as in Apple's responses. This is performance-critical code, because a response has
/// thousands of values.
///
/// It is `public` and `@inlinable` because the compiler does not inline `package` functions into other modules
/// (docs/decisions/0004).
public struct JSONWriter: ~Copyable {
    /// The bytes written so far.
    @usableFromInline var bytes: [UInt8] = []

    /// - Parameter capacity: the approximate size of the JSON text in bytes.
    @inlinable public init(reserving capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// The number of bytes written so far.
    @inlinable public var count: Int { bytes.count }

    /// Returns the JSON text.
    @inlinable public consuming func finish() -> [UInt8] { bytes }

    /// Writes `{`.
    @inlinable public mutating func beginObject() { open(0x7B) }
    /// Writes `}`.
    @inlinable public mutating func endObject() { bytes.append(0x7D) }
    /// Writes `[`.
    @inlinable public mutating func beginArray() { open(0x5B) }
    /// Writes `]`.
    @inlinable public mutating func endArray() { bytes.append(0x5D) }

    /// Writes the key of the next value.
    @inlinable public mutating func key(_ key: JSONKey) { member(key.bytes) }

    /// Writes the key of the next value, if it is not known in advance.
    @inlinable public mutating func key(_ text: String) {
        separate()
        quoted(text)
        bytes.append(0x3A)
    }

    /// Writes the key of the next value from UTF-8.
    @inlinable public mutating func key(utf8: [UInt8]) {
        value(utf8: utf8)
        bytes.append(0x3A)
    }

    /// Writes a JSON string.
    @inlinable public mutating func value(_ text: String) {
        separate()
        quoted(text)
    }

    /// Writes a JSON string from UTF-8.
    @inlinable public mutating func value(utf8: [UInt8]) {
        separate()
        bytes.append(0x22)
        utf8.withUnsafeBufferPointer { characters(utf8: $0) }
        bytes.append(0x22)
    }

    /// Writes a JSON number with all of its 64 bits.
    @inlinable public mutating func value(_ number: Int64) {
        separate()
        digits(number)
    }

    /// Writes `true` or `false`.
    @inlinable public mutating func value(_ flag: Bool) {
        separate()
        ascii(flag ? "true" : "false")
    }

    /// Writes `null`.
    @inlinable public mutating func null() {
        separate()
        ascii("null")
    }

    /// Writes one or more values that are already encoded, with commas between them; writes nothing if `json` is
    /// empty.
    @inlinable public mutating func values(json: some Collection<UInt8>) {
        guard !json.isEmpty else { return }
        separate()
        bytes.append(contentsOf: json)
    }

    @inlinable mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
    }

    /// Writes a comma, unless the next value is the first in its container or follows a key.
    @inlinable mutating func separate() {
        switch bytes.last {
        case nil, 0x7B, 0x5B, 0x3A: break
        default: bytes.append(0x2C)
        }
    }
}

/// Pieces of a value, for callers that encode the constant parts of their members once. The pieces together must be
/// valid JSON.
extension JSONWriter {
    /// Writes the encoded beginning of a member: `,"key":` and possibly more. The comma is dropped for the first
    /// member of an object.
    ///
    /// - Returns: the offset of the first byte after the comma.
    @discardableResult @inlinable
    public mutating func member(_ beginning: [UInt8]) -> Int {
        let position = bytes.count
        let comma = bytes.last == 0x7B ? 1 : 0
        // An unsafe buffer is used because `append(contentsOf:)` retains and releases an array.
        beginning.withUnsafeBufferPointer { bytes.append(contentsOf: UnsafeBufferPointer(rebasing: $0[comma...])) }
        return position + 1 - comma
    }

    /// Writes bytes unchanged.
    @inlinable
    public mutating func raw(_ piece: [UInt8]) {
        piece.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Writes ASCII characters that need no escaping, without quotes.
    @inlinable
    public mutating func ascii(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes one byte unchanged.
    @inlinable
    public mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    /// Writes decimal digits, with `-` for a negative number.
    @inlinable public mutating func digits(_ number: Int64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var rest = number.magnitude
            var start = 20
            repeat {
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                start -= 1
                buffer[start] = 0x30 + UInt8(truncatingIfNeeded: digit)
                rest = quotient
            } while rest > 0
            if number < 0 {
                start -= 1
                buffer[start] = 0x2D
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[start...]))
        }
    }

    /// Overwrites bytes that were written before.
    @inlinable
    public mutating func overwrite(_ range: Range<Int>, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        bytes.withUnsafeMutableBufferPointer { body(UnsafeMutableBufferPointer(rebasing: $0[range])) }
    }
}

/// A key that is encoded once for ``JSONWriter``: with comma, quotes, escapes and colon.
public struct JSONKey: Sendable {
    /// The encoded key: `,"key":`
    public let bytes: [UInt8]

    /// Encodes any text as a key, with escapes if they are necessary.
    public init(_ text: String) {
        var writer = JSONWriter(reserving: text.utf8.count + 4)
        writer.byte(0x2C)
        writer.quoted(text)
        writer.byte(0x3A)
        bytes = writer.finish()
    }
}
