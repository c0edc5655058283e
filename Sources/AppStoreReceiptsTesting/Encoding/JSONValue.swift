import ReceiptBridgeBase

/// A JSON document whose members keep the order in which they were written.
///
/// The order matters in Apple's responses and in the files of the state directory, and Foundation's encoder does not
/// preserve it.
package indirect enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Int64)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object: `"key": value`.
    package struct Member: Sendable, Hashable {
        package let key: String
        package let value: JSONValue

        package init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// Returns the value of a member. If the key occurs more than once, returns the last one, as Apple's endpoint
    /// does.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }

    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var integer: Int64? { if case .number(let number) = self { number } else { nil } }
    package var flag: Bool? { if case .bool(let flag) = self { flag } else { nil } }
    package var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
}

extension JSONValue {
    /// The compact form without spaces. Slashes are not escaped.
    package var bytes: [UInt8] {
        var output: [UInt8] = []
        write(to: &output, indent: nil)
        return output
    }

    /// The form for people: indented by two spaces for each level, with a line feed at the end.
    package var prettyBytes: [UInt8] {
        var output: [UInt8] = []
        write(to: &output, indent: 0)
        output.append(0x0A)
        return output
    }

    private func write(to output: inout [UInt8], indent: Int?) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let flag): output += (flag ? "true" : "false").utf8
        case .number(let number): output += String(number).utf8
        case .string(let text): Self.write(text, to: &output)
        case .array(let elements):
            Self.write(elements, between: ("[", "]"), to: &output, indent: indent) { element, output, indent in
                element.write(to: &output, indent: indent)
            }
        case .object(let members):
            Self.write(members, between: ("{", "}"), to: &output, indent: indent) { member, output, indent in
                Self.write(member.key, to: &output)
                output += (indent == nil ? ":" : ": ").utf8
                member.value.write(to: &output, indent: indent)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element], between brackets: (String, String), to output: inout [UInt8], indent: Int?,
        each: (Element, inout [UInt8], Int?) -> Void
    ) {
        let inner = indent.map { $0 + 2 }
        output += brackets.0.utf8
        for (index, element) in elements.enumerated() {
            if index > 0 { output += ",".utf8 }
            breakLine(&output, inner)
            each(element, &output, inner)
        }
        if !elements.isEmpty { breakLine(&output, indent) }
        output += brackets.1.utf8
    }

    private static func breakLine(_ output: inout [UInt8], _ indent: Int?) {
        guard let indent else { return }
        output.append(0x0A)
        output += repeatElement(0x20, count: indent)
    }

    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(0x22)
        // Most texts need no escape, and are written as they are.
        let bytes = Array(text.utf8)
        var plain = 0
        while plain < bytes.count, bytes[plain] >= 0x20, bytes[plain] != 0x22, bytes[plain] != 0x5C { plain += 1 }
        output += bytes[..<plain]
        for byte in bytes[plain...] {
            switch byte {
            case 0x22, 0x5C: output += [0x5C, byte]
            case 0x0A: output += "\\n".utf8
            case 0x0D: output += "\\r".utf8
            case 0x09: output += "\\t".utf8
            case 0..<0x20:
                output += "\\u00".utf8
                Hexadecimal.append(byte, to: &output)
            default: output.append(byte)
            }
        }
        output.append(0x22)
    }
}

extension JSONValue {
    /// Returns an object without the members whose value is `nil`.
    package static func object(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { member in member.value.map { Member(member.key, $0) } })
    }

    /// Leaves out the members whose value is `nil`.
    package init(_ members: KeyValuePairs<String, (any JSONRepresentable)?>) {
        self = .object(Self.members(members))
    }

    /// Returns the members whose value is not `nil`.
    package static func members(_ members: KeyValuePairs<String, (any JSONRepresentable)?>) -> [Member] {
        members.compactMap { member in member.value.map { Member(member.key, $0.json) } }
    }
}

/// A value that stands in a JSON document as it is.
package protocol JSONRepresentable {
    var json: JSONValue { get }
}

extension JSONValue: JSONRepresentable { package var json: JSONValue { self } }
extension Bool: JSONRepresentable { package var json: JSONValue { .bool(self) } }
extension Int: JSONRepresentable { package var json: JSONValue { .number(Int64(self)) } }
extension Int64: JSONRepresentable { package var json: JSONValue { .number(self) } }
extension String: JSONRepresentable { package var json: JSONValue { .string(self) } }
extension Array: JSONRepresentable where Element: JSONRepresentable {
    package var json: JSONValue { .array(map(\.json)) }
}

/// The error of reading bytes that are not JSON.
package struct JSONReadingError: Error, Sendable, Hashable {
    /// Offset of the first byte that is not valid.
    package let offset: Int
}

extension JSONValue {
    /// Reads a complete document. Nesting beyond 64 levels is an error. Numbers that are not 64-bit integers become
    /// strings.
    package init(reading bytes: [UInt8]) throws(JSONReadingError) {
        var reader = JSONReader(bytes: bytes)
        self = try reader.value(depth: 0)
        reader.skipSpaces()
        guard reader.position == bytes.count else { throw reader.failure }
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    var position = 0

    var failure: JSONReadingError { JSONReadingError(offset: position) }
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpaces() {
        while let byte = next, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D { position += 1 }
    }

    /// Advances past the text if the input continues with it, and returns whether it does.
    mutating func consume(_ text: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[position...].starts(with: expected) else { return false }
        position += expected.count
        return true
    }

    mutating func value(depth: Int) throws(JSONReadingError) -> JSONValue {
        skipSpaces()
        guard depth < 64 else { throw failure }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try text())
        case let byte? where "-0123456789".utf8.contains(byte): return number()
        default: break
        }
        if consume("true") { return .bool(true) }
        if consume("false") { return .bool(false) }
        if consume("null") { return .null }
        throw failure
    }

    private mutating func object(depth: Int) throws(JSONReadingError) -> JSONValue {
        var members: [JSONValue.Member] = []
        try list(until: "}") { reader throws(JSONReadingError) in
            guard reader.next == UInt8(ascii: "\"") else { throw reader.failure }
            let key = try reader.text()
            reader.skipSpaces()
            guard reader.consume(":") else { throw reader.failure }
            members.append(.init(key, try reader.value(depth: depth + 1)))
        }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(JSONReadingError) -> JSONValue {
        var elements: [JSONValue] = []
        try list(until: "]") { reader throws(JSONReadingError) in elements.append(try reader.value(depth: depth + 1)) }
        return .array(elements)
    }

    /// Reads elements that are separated by commas, from the opening bracket on.
    private mutating func list(
        until end: StaticString, element: (inout JSONReader) throws(JSONReadingError) -> Void
    ) throws(JSONReadingError) {
        position += 1
        skipSpaces()
        if consume(end) { return }
        while true {
            skipSpaces()
            try element(&self)
            skipSpaces()
            if consume(end) { return }
            guard consume(",") else { throw failure }
        }
    }

    private mutating func number() -> JSONValue {
        let start = position
        while let byte = next, "+-.0123456789eE".utf8.contains(byte) { position += 1 }
        let digits = String(decoding: bytes[start..<position], as: UTF8.self)
        return Int64(digits).map(JSONValue.number) ?? .string(digits)
    }

    /// Reads a string from its opening quote on.
    private mutating func text() throws(JSONReadingError) -> String {
        position += 1
        // Most texts have no escape, and are read as they are.
        let start = position
        while position < bytes.count, bytes[position] != 0x5C, bytes[position] >= 0x20 {
            if bytes[position] == 0x22 {
                position += 1
                return String(decoding: bytes[start..<position - 1], as: UTF8.self)
            }
            position += 1
        }
        var units = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"): units += try escape()
            case 0..<0x20: throw failure
            default: units.append(byte)
            }
        }
        throw failure
    }

    /// The characters after the letters that stand for them: quote, backslash, slash, `b`, `f`, `n`, `r` and `t`.
    private static let escapes: [UInt8: UInt8] = [
        0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09,
    ]

    /// Reads an escape sequence after its backslash. A surrogate without its counterpart becomes U+FFFD.
    private mutating func escape() throws(JSONReadingError) -> [UInt8] {
        guard let byte = next else { throw failure }
        position += 1
        if let character = Self.escapes[byte] { return [character] }
        guard byte == UInt8(ascii: "u") else { throw failure }
        let unit = try fourDigits()
        guard (0xD800..<0xDC00).contains(unit), consume("\\u") else { return utf8(UInt32(unit)) }
        let low = try fourDigits()
        guard (0xDC00..<0xE000).contains(low) else { return utf8(0xFFFD) + utf8(UInt32(low)) }
        return utf8(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
    }

    private mutating func fourDigits() throws(JSONReadingError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = next.flatMap(Hexadecimal.value) else { throw failure }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private func utf8(_ scalar: UInt32) -> [UInt8] {
        Array(String(Unicode.Scalar(scalar).map(Character.init) ?? "\u{FFFD}").utf8)
    }
}
