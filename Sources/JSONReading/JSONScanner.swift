/// Walks over JSON (RFC 8259) without building anything: each method checks one piece of the grammar and moves behind it.
///
///     document = blanks object blanks
///     object   = "{" [ member *( "," member ) ] "}"      member = string ":" value
///     array    = "[" [ value *( "," value ) ] "]"
///     value    = string / number / "true" / "false" / "null" / object / array
///
/// Nested values are checked too, so that what passes here is JSON for every other reader. The work is linear, without
/// recursion and without memory that grows. Whether the bytes of a string are UTF-8 is not checked.
package struct JSONScanner {
    /// Levels of objects and arrays; Apple's answers have four.
    package static let maximumDepth = 64

    /// Of the next byte.
    var position: Int
    /// Levels that a value may have.
    let valueDepth: Int

    /// - Parameters:
    ///   - position: of the byte to begin at.
    ///   - valueDepth: levels that a value may have, at most ``maximumDepth``; the object around it is one more.
    package init(at position: Int = 0, valueDepth: Int = JSONScanner.maximumDepth - 1) {
        self.position = position
        self.valueDepth = min(valueDepth, Self.maximumDepth)
    }

    /// A document that is exactly one object. Hands over its members in order, repetitions included.
    package mutating func takeDocument(
        _ bytes: Span<UInt8>, _ body: (Member) -> Void
    ) throws(JSONStructureError) {
        skipBlanks(bytes)
        try takeObject(bytes, body)
        skipBlanks(bytes)
        guard position == bytes.count else { throw fails(expecting: "nothing after the object") }
    }

    /// Hands over the members in order, repetitions included.
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

    /// Hands over the elements in order.
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

    /// Any value, however nested, from its first byte to its last.
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
    func fails(expecting expected: String) -> JSONStructureError {
        JSONStructureError(offset: position, expected: expected)
    }

    func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    /// True when the byte was there.
    mutating func consume(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard peek(bytes) == byte else { return false }
        position += 1
        return true
    }

    mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }
}
