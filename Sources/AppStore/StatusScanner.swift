/// Reads the two members of a verifyReceipt answer that decide what to do with it, and nothing else.
///
///     { …, "status": 21002, "is_retryable": true, … }
///
/// The whole body has to be one JSON object; members of nested objects do not count; of duplicates the last one counts,
/// as with Apple's own parser. `is-retryable` is the same member by its older name.
package struct StatusScanner: Sendable {
    /// An integer of up to nine digits, or one written as text; nil when absent or anything else.
    package private(set) var status: Int?
    /// From `true`, `1`, `"true"`, `"1"` and their opposites; nil when absent or anything else.
    package private(set) var isRetryable: Bool?

    /// Throws when the body is not exactly one JSON object, with blanks around it or without.
    package static func scan(_ body: [UInt8]) throws(JSONStructureError) -> StatusScanner {
        var scanner = StatusScanner()
        try scanner.scan(body.span)
        return scanner
    }

    private mutating func scan(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        var walk = JSONStructure()
        walk.skipBlanks(bytes)
        guard walk.take(UInt8(ascii: "{"), bytes) else { throw walk.fails(expecting: "a JSON object") }
        walk.skipBlanks(bytes)
        if !walk.take(UInt8(ascii: "}"), bytes) {
            repeat {
                try takeMember(&walk, bytes)
                walk.skipBlanks(bytes)
            } while walk.take(UInt8(ascii: ","), bytes)
            guard walk.take(UInt8(ascii: "}"), bytes) else { throw walk.fails(expecting: "a comma or }") }
        }
        walk.skipBlanks(bytes)
        guard walk.position == bytes.count else { throw walk.fails(expecting: "nothing after the object") }
    }

    private mutating func takeMember(_ walk: inout JSONStructure, _ bytes: Span<UInt8>) throws(JSONStructureError) {
        let name = Self.shortText(try walk.takeName(bytes), bytes)
        let start = walk.position
        try walk.skipValue(bytes)
        switch name {
        case "status": status = Self.number(start..<walk.position, bytes)
        case "is_retryable", "is-retryable": isRetryable = Self.flag(start..<walk.position, bytes)
        default: break
        }
    }

    private static func number(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Int? {
        guard let text = scalarText(value, bytes), (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(text)
    }

    private static func flag(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Bool? {
        switch scalarText(value, bytes) {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// The text of a string, or a number or word as it stands.
    private static func scalarText(_ value: Range<Int>, _ bytes: Span<UInt8>) -> String? {
        guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { return shortText(value, bytes) }
        return shortText((value.lowerBound + 1)..<(value.upperBound - 1), bytes)
    }

    /// Decodes text of up to 12 characters of printable ASCII, escaped or not; nil for any other, which is not ours.
    private static func shortText(_ range: Range<Int>, _ bytes: Span<UInt8>) -> String? {
        guard range.count <= 72 else { return nil }
        var text = ""
        var position = range.lowerBound
        while position < range.upperBound {
            var scalar = UInt32(bytes[position])
            position += 1
            if scalar == 0x5C {
                guard bytes[position] == UInt8(ascii: "u") else { return nil }
                scalar = (1...4).reduce(0) { $0 << 4 | (hexDigit(bytes[position + $1]) ?? 0) }
                position += 5
            }
            guard (0x20...0x7E).contains(scalar), let character = UnicodeScalar(scalar), text.utf8.count < 12 else {
                return nil
            }
            text.unicodeScalars.append(character)
        }
        return text
    }
}
