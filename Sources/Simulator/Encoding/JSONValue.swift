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
        let digits = Array("0123456789abcdef".utf8)
        for byte in bytes[plain...] {
            switch byte {
            case 0x22, 0x5C: output += [0x5C, byte]
            case 0x0A: output += "\\n".utf8
            case 0x0D: output += "\\r".utf8
            case 0x09: output += "\\t".utf8
            case 0..<0x20: output += "\\u00".utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
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
}
