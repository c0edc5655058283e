/// Writes compact JSON straight into bytes: no values in between, no dictionaries, keys in the order of the calls.
///
/// The caller keeps to the grammar (a key before each member, every container closed); commas are the writer's. `/` is
/// not escaped, as in Apple's answers. Hot code: an answer has thousands of values.
package struct JSONWriter: ~Copyable {
    /// What is written so far; only this type and its extensions change it.
    var bytes: [UInt8] = []

    /// - Parameter capacity: how many bytes the text will have, about.
    package init(reserving capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// The text written.
    package consuming func finish() -> [UInt8] { bytes }

    /// `{`
    package mutating func beginObject() { open(0x7B) }
    /// `}`
    package mutating func endObject() { bytes.append(0x7D) }
    /// `[`
    package mutating func beginArray() { open(0x5B) }
    /// `]`
    package mutating func endArray() { bytes.append(0x5D) }

    /// The key of the next value.
    package mutating func key(_ key: JSONKey) { member(key.bytes) }

    /// The key of the next value, where it is known only now.
    package mutating func key(_ text: String) {
        separate()
        quoted(text)
        bytes.append(0x3A)
    }

    /// A JSON string.
    package mutating func value(_ text: String) {
        separate()
        quoted(text)
    }

    /// A JSON number, all 64 bits of it.
    package mutating func value(_ number: Int64) {
        separate()
        digits(number)
    }

    /// `true` or `false`.
    package mutating func value(_ flag: Bool) {
        separate()
        ascii(flag ? "true" : "false")
    }

    /// `null`
    package mutating func null() {
        separate()
        ascii("null")
    }

    /// One or more values, written elsewhere, with the commas between them; nothing when there are none.
    package mutating func values(json: some Collection<UInt8>) {
        guard !json.isEmpty else { return }
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
    }

    /// A comma, unless this is the first thing in its container or the value of a key.
    private mutating func separate() {
        switch bytes.last {
        case nil, 0x7B, 0x5B, 0x3A: break
        default: bytes.append(0x2C)
        }
    }
}

extension JSONWriter {
    /// A member's beginning, made ready before: `,"key":` and perhaps more; the comma is dropped where none belongs.
    ///
    /// - Returns: where the first byte after the comma landed.
    @discardableResult
    mutating func member(_ beginning: [UInt8]) -> Int {
        let position = bytes.count
        let comma = bytes.last == 0x7B ? 1 : 0
        // Through a buffer, because `append(contentsOf:)` takes an array as its own, which costs two counts.
        beginning.withUnsafeBufferPointer { bytes.append(contentsOf: UnsafeBufferPointer(rebasing: $0[comma...])) }
        return position + 1 - comma
    }

    /// Bytes as they are.
    mutating func raw(_ piece: [UInt8]) {
        piece.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Characters of ASCII that need no escaping, without quotes.
    mutating func ascii(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    /// Decimal digits, with `-` for a negative number.
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

    /// Puts the 19 characters of a date over those that stand at `position`.
    mutating func overwrite(at position: Int, with time: CivilTime) {
        bytes.withUnsafeMutableBufferPointer { buffer in
            time.write(into: UnsafeMutableBufferPointer(rebasing: buffer[position..<position + CivilTime.length]))
        }
    }
}
