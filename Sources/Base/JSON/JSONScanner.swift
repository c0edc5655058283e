/// A validating scanner for JSON (RFC 8259) that allocates nothing: each method checks one piece of the grammar and
/// moves the position past it.
///
///     document = blanks object blanks
///     object   = "{" [ member *( "," member ) ] "}"      member = string ":" value
///     array    = "[" [ value *( "," value ) ] "]"
///     value    = string / number / "true" / "false" / "null" / object / array
///
/// Nested values are validated too, so that everything accepted here is JSON for every other parser. The work is
/// linear, there is no recursion, and memory use is constant. The scanner does not check whether strings are valid
/// UTF-8.
package struct JSONScanner {
    /// The maximum nesting depth of objects and arrays. Apple's responses have four levels.
    package static let maximumDepth = 64

    var position: Int
    /// The maximum nesting depth of a single value.
    let valueDepth: Int

    /// `position` is the offset of the byte to start at. `valueDepth` is at most ``maximumDepth``.
    package init(at position: Int = 0, valueDepth: Int = JSONScanner.maximumDepth - 1) {
        self.position = position
        self.valueDepth = min(valueDepth, Self.maximumDepth)
    }

    /// Scans a document that consists of exactly one object. Passes each member to `body` in document order,
    /// duplicate names included.
    package mutating func scanDocument(_ bytes: Span<UInt8>, _ body: (Member) -> Void) throws(JSONStructureError) {
        skipWhiteSpace(bytes)
        try scanObject(bytes, body)
        skipWhiteSpace(bytes)
        guard position == bytes.count else { throw error(expecting: "nothing after the object") }
    }

    /// Scans an object. Passes each member to `body` in document order, duplicate names included.
    package mutating func scanObject(_ bytes: Span<UInt8>, _ body: (Member) -> Void) throws(JSONStructureError) {
        guard consume(UInt8(ascii: "{"), bytes) else { throw error(expecting: "a JSON object") }
        skipWhiteSpace(bytes)
        if consume(UInt8(ascii: "}"), bytes) { return }
        repeat {
            let name = try scanName(bytes)
            body(Member(name: name, value: try scanValue(bytes)))
            skipWhiteSpace(bytes)
        } while consume(UInt8(ascii: ","), bytes)
        guard consume(UInt8(ascii: "}"), bytes) else { throw error(expecting: "a comma or }") }
    }

    package mutating func scanArray(_ bytes: Span<UInt8>, _ body: (Value) -> Void) throws(JSONStructureError) {
        guard consume(UInt8(ascii: "["), bytes) else { throw error(expecting: "an array") }
        skipWhiteSpace(bytes)
        if consume(UInt8(ascii: "]"), bytes) { return }
        repeat {
            skipWhiteSpace(bytes)
            body(try scanValue(bytes))
            skipWhiteSpace(bytes)
        } while consume(UInt8(ascii: ","), bytes)
        guard consume(UInt8(ascii: "]"), bytes) else { throw error(expecting: "a comma or ]") }
    }

    /// Scans any value, however deeply nested, from its first byte to its last.
    private mutating func scanValue(_ bytes: Span<UInt8>) throws(JSONStructureError) -> Value {
        let start = position
        switch peek(bytes) {
        case UInt8(ascii: "\""):
            return .string(try scanString(bytes))
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try skipContainer(bytes)
            return .container(start..<position)
        default:
            try skipScalar(bytes)
            return .scalar(start..<position)
        }
    }
}

// MARK: - Bytes

extension JSONScanner {
    func error(expecting expected: String) -> JSONStructureError {
        JSONStructureError(offset: position, expected: expected)
    }

    /// Returns the next byte without moving; `nil` at the end.
    func peek(_ bytes: Span<UInt8>) -> UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips the next byte if it equals `byte`. Returns whether it did.
    mutating func consume(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard peek(bytes) == byte else { return false }
        position += 1
        return true
    }

    mutating func skipWhiteSpace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }
}

extension JSONScanner {
    package struct Member: Sendable, Hashable {
        package let name: JSONString
        package let value: Value
    }

    /// The type of a value and its byte range in the document.
    package enum Value: Sendable, Hashable {
        case string(JSONString)
        /// A number, `true`, `false` or `null`, exactly as written.
        case scalar(Range<Int>)
        /// An object or an array, with its braces or brackets.
        case container(Range<Int>)

        /// The byte range of the value; of a string with its quotes.
        package var whole: Range<Int> {
            switch self {
            case .string(let string): string.range.lowerBound - 1..<string.range.upperBound + 1
            case .scalar(let range), .container(let range): range
            }
        }
    }
}

/// The error of bytes that are not valid JSON, or exceed the scanner's limits.
package struct JSONStructureError: Error, Hashable, CustomStringConvertible {
    /// The offset of the first byte that does not fit.
    package let offset: Int
    /// A description of what was expected at this offset, for example `a colon`.
    package let expected: String

    /// What is expected beyond the maximum number of values.
    static let fewerValues = "fewer values"

    package var isTooMany: Bool { expected == Self.fewerValues }

    /// One line, for example `byte 12: expected a colon`.
    package var description: String { "byte \(offset): expected \(expected)" }
}

/// The error of a member that exists in the JSON object but has the wrong type or an unusable value.
package struct JSONFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    package let name: String
    /// The type or form that was expected, for example `a number of milliseconds`. It never contains the value.
    package let expected: String

    package init(_ name: StaticString, _ expected: String) {
        self.name = name.description
        self.expected = expected
    }

    package var description: String { "\(name): expected \(expected)" }
}
