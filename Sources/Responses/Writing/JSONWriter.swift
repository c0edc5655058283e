/// Writes compact JSON directly into a byte array, without intermediate values. Members appear in the order of the
/// calls.
///
/// The caller is responsible for the grammar: a key before each member, and every container closed. The writer adds
/// the commas. `/` is not escaped, as in Apple's responses. This is performance-critical code, because a response has
/// thousands of values.
package struct JSONWriter: ~Copyable {
    /// The bytes written so far. Only this type and its extensions change them.
    var bytes: [UInt8] = []

    /// - Parameter capacity: the approximate size of the JSON text in bytes.
    package init(reserving capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// Returns the JSON text.
    package consuming func finish() -> [UInt8] { bytes }

    /// Writes `{`.
    package mutating func beginObject() { open(0x7B) }
    /// Writes `}`.
    package mutating func endObject() { bytes.append(0x7D) }
    /// Writes `[`.
    package mutating func beginArray() { open(0x5B) }
    /// Writes `]`.
    package mutating func endArray() { bytes.append(0x5D) }

    /// Writes the key of the next value.
    package mutating func key(_ key: JSONKey) { member(key.bytes) }

    /// Writes the key of the next value, if it is not known in advance.
    package mutating func key(_ text: String) {
        separate()
        quoted(text)
        bytes.append(0x3A)
    }

    /// Writes a JSON string.
    package mutating func value(_ text: String) {
        separate()
        quoted(text)
    }

    /// Writes a JSON number with all of its 64 bits.
    package mutating func value(_ number: Int64) {
        separate()
        digits(number)
    }

    /// Writes `true` or `false`.
    package mutating func value(_ flag: Bool) {
        separate()
        ascii(flag ? "true" : "false")
    }

    /// Writes `null`.
    package mutating func null() {
        separate()
        ascii("null")
    }

    /// Writes one or more values that are already encoded, with commas between them; writes nothing if `json` is
    /// empty.
    package mutating func values(json: some Collection<UInt8>) {
        guard !json.isEmpty else { return }
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
    }

    /// Writes a comma, unless the next value is the first in its container or follows a key.
    private mutating func separate() {
        switch bytes.last {
        case nil, 0x7B, 0x5B, 0x3A: break
        default: bytes.append(0x2C)
        }
    }
}

extension JSONWriter {
    /// Writes the encoded beginning of a member: `,"key":` and possibly more. The comma is dropped for the first
    /// member of an object.
    ///
    /// - Returns: the offset of the first byte after the comma.
    @discardableResult
    mutating func member(_ beginning: [UInt8]) -> Int {
        let position = bytes.count
        let comma = bytes.last == 0x7B ? 1 : 0
        // An unsafe buffer is used because `append(contentsOf:)` retains and releases an array.
        beginning.withUnsafeBufferPointer { bytes.append(contentsOf: UnsafeBufferPointer(rebasing: $0[comma...])) }
        return position + 1 - comma
    }

    /// Writes bytes unchanged.
    mutating func raw(_ piece: [UInt8]) {
        piece.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Writes ASCII characters that need no escaping, without quotes.
    mutating func ascii(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    /// Writes decimal digits, with `-` for a negative number.
    mutating func digits(_ number: Int64) {
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

    /// Overwrites the 19 characters of a date at `position`.
    mutating func overwrite(at position: Int, with time: CivilTime) {
        bytes.withUnsafeMutableBufferPointer { buffer in
            time.write(into: UnsafeMutableBufferPointer(rebasing: buffer[position..<position + CivilTime.length]))
        }
    }
}

extension JSONWriter {
    /// Writes a JSON string with quotes, and with escapes where RFC 8259 requires them.
    mutating func quoted(_ text: String) {
        bytes.append(0x22)
        characters(text)
        bytes.append(0x22)
    }

    /// Writes the contents of a JSON string, without quotes.
    mutating func characters(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            let plain = Self.plainPrefix(of: utf8)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[..<plain]))
            for index in plain..<utf8.count { escaped(utf8[index]) }
        }
    }

    /// Writes one byte, escaped if JSON requires it. Bytes of multi-byte UTF-8 characters are never escaped.
    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case 0x22: ascii(#"\""#)
        case 0x5C: ascii(#"\\"#)
        case 0x08: ascii(#"\b"#)
        case 0x09: ascii(#"\t"#)
        case 0x0A: ascii(#"\n"#)
        case 0x0C: ascii(#"\f"#)
        case 0x0D: ascii(#"\r"#)
        case 0..<0x20:
            ascii(#"\u00"#)
            bytes.append(0x30 + (byte >> 4))
            bytes.append(byte & 15 < 10 ? 0x30 + (byte & 15) : 0x57 + (byte & 15))
        default: bytes.append(byte)
        }
    }

    /// Returns the number of bytes before the first one that needs an escape. It checks eight bytes at a time,
    /// because `latest_receipt` has about a hundred thousand bytes.
    private static func plainPrefix(of utf8: UnsafeBufferPointer<UInt8>) -> Int {
        let bytes = UnsafeRawBufferPointer(utf8)
        var index = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // Bytes below 0x20, `"` and `\`. Each test sets the top bit of every byte that matches.
            let control = (word &- 0x2020_2020_2020_2020) & ~word
            let quote = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let found = control | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
            if found & 0x8080_8080_8080_8080 != 0 { break }
            index += 8
        }
        while index < bytes.count, bytes[index] >= 0x20, bytes[index] != 0x22, bytes[index] != 0x5C { index += 1 }
        return index
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
