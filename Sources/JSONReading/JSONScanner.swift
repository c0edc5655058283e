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

    /// The offset of the next byte.
    var position: Int
    /// The maximum nesting depth of a single value.
    let valueDepth: Int

    /// - Parameters:
    /// - position: offset of the byte to start at. - valueDepth: the maximum nesting depth of a single value, at most
    /// ``maximumDepth``; the object around it is one more level.
    package init(at position: Int = 0, valueDepth: Int = JSONScanner.maximumDepth - 1) {
        self.position = position
        self.valueDepth = min(valueDepth, Self.maximumDepth)
    }

    /// Scans a document that consists of exactly one object. Passes each member to `body` in document order,
    /// duplicate names included.
    package mutating func takeDocument(
        _ bytes: Span<UInt8>, _ body: (Member) -> Void
    ) throws(JSONStructureError) {
        skipBlanks(bytes)
        try takeObject(bytes, body)
        skipBlanks(bytes)
        guard position == bytes.count else { throw fails(expecting: "nothing after the object") }
    }

    /// Scans an object. Passes each member to `body` in document order, duplicate names included.
    mutating func takeObject(_ bytes: Span<UInt8>, _ body: (Member) -> Void) throws(JSONStructureError) {
        guard consume(UInt8(ascii: "{"), bytes) else { throw fails(expecting: "a JSON object") }
        skipBlanks(bytes)
        if consume(UInt8(ascii: "}"), bytes) { return }
        repeat {
            let name = try takeName(bytes)
            body(Member(name: name, value: try takeValue(bytes)))
            skipBlanks(bytes)
        } while consume(UInt8(ascii: ","), bytes)
        guard consume(UInt8(ascii: "}"), bytes) else { throw fails(expecting: "a comma or }") }
    }

    /// Scans an array. Passes each element to `body` in document order.
    mutating func takeArray(_ bytes: Span<UInt8>, _ body: (Value) -> Void) throws(JSONStructureError) {
        guard consume(UInt8(ascii: "["), bytes) else { throw fails(expecting: "an array") }
        skipBlanks(bytes)
        if consume(UInt8(ascii: "]"), bytes) { return }
        repeat {
            skipBlanks(bytes)
            body(try takeValue(bytes))
            skipBlanks(bytes)
        } while consume(UInt8(ascii: ","), bytes)
        guard consume(UInt8(ascii: "]"), bytes) else { throw fails(expecting: "a comma or ]") }
    }

    /// Scans any value, however deeply nested, from its first byte to its last.
    private mutating func takeValue(_ bytes: Span<UInt8>) throws(JSONStructureError) -> Value {
        let start = position
        switch peek(bytes) {
        case UInt8(ascii: "\""):
            return .string(try takeString(bytes))
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
    /// Returns the error for the current position.
    func fails(expecting expected: String) -> JSONStructureError {
        JSONStructureError(offset: position, expected: expected)
    }

    /// Returns the next byte without moving; `nil` at the end.
    func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    /// Skips the next byte if it equals `byte`. Returns whether it did.
    mutating func consume(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard peek(bytes) == byte else { return false }
        position += 1
        return true
    }

    /// Skips spaces, tabs and line breaks.
    mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }
}
