package import ReceiptBridgeBase

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
        var writer = JSONWriter()
        write(to: &writer)
        return writer.finish()
    }

    /// The form for people: indented by two spaces for each level, with a line feed at the end.
    package var prettyBytes: [UInt8] {
        Array((IndentedJSON.lines(of: bytes, maximum: .max).joined(separator: "\n") + "\n").utf8)
    }

    private func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let flag): writer.value(flag)
        case .number(let number): writer.value(number)
        case .string(let text): writer.value(text)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.key)
                member.value.write(to: &writer)
            }
            writer.endObject()
        }
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

extension JSONValue {
    /// Reads a complete document. Nesting beyond 64 levels is an error. Numbers that are not 64-bit integers become
    /// strings.
    package init(reading bytes: [UInt8]) throws(JSONStructureError) {
        self.init(try JSONOutline(bytes, maximumNodes: .max, isObject: false), 0)
    }

    private init(_ outline: JSONOutline, _ index: Int) {
        func text(_ string: JSONString) -> String {
            String(decoding: string.unescaped(in: outline.bytes.span), as: UTF8.self)
        }
        switch outline.nodes[index].value {
        case .string(let string): self = .string(text(string))
        case .scalar(let range):
            let written = text(JSONString(range: range))
            self =
                switch written {
                case "true", "false": .bool(written == "true")
                case "null": .null
                default: Int64(written).map(JSONValue.number) ?? .string(written)
                }
        case .container:
            let children = outline.children(of: index)
            self =
                outline.isArray(index)
                ? .array(children.map { JSONValue(outline, $0) })
                : .object(children.map { Member(outline.nodes[$0].name.map(text) ?? "", JSONValue(outline, $0)) })
        }
    }
}
