import Base

/// A JSON document as a tree of values. Only conversions use it, because it is too slow for serving requests.
enum JSONTree: Sendable, Hashable {
    case text(String)
    /// A whole number that fits exactly into 64 bits.
    case integer(Int64)
    /// Any other number, exactly as written.
    case number(String)
    case flag(Bool)
    case null
    case array([JSONTree])
    case object([String: JSONTree])

    /// Creates a value from the node of a document. If a name occurs more than once, the last member counts. Returns
    /// `nil` if a text or a name is not UTF-8.
    init?(_ outline: JSONOutline, at index: Int = 0) {
        switch outline.nodes[index].value {
        case .string(let string):
            guard let text = string.text(in: outline.bytes.span) else { return nil }
            self = .text(text)
        case .scalar(let range):
            self = Self.scalar(String(decoding: outline.bytes[range], as: UTF8.self))
        case .container where outline.isObject(index):
            var members: [String: JSONTree] = [:]
            for child in outline.children(of: index) {
                guard let name = outline.name(child), let value = JSONTree(outline, at: child) else { return nil }
                members[name] = value
            }
            self = .object(members)
        case .container:
            var elements: [JSONTree] = []
            for child in outline.children(of: index) {
                guard let value = JSONTree(outline, at: child) else { return nil }
                elements.append(value)
            }
            self = .array(elements)
        }
    }

    /// Creates a value from a value of a response; `nil` if a text in it is not UTF-8.
    init?(_ value: VerifyReceiptResponse.Value) {
        self.init(value.outline, at: value.index)
    }

    /// Parses a number or a literal.
    private static func scalar(_ spelling: String) -> JSONTree {
        switch spelling {
        case "true": .flag(true)
        case "false": .flag(false)
        case "null": .null
        default: wholeNumber(spelling).map(JSONTree.integer) ?? .number(spelling)
        }
    }

    /// Parses a whole number. `4990.0` and `5e3` are whole numbers, too. Plain digits are never parsed as a `Double`,
    /// which would round large numbers.
    private static func wholeNumber(_ spelling: String) -> Int64? {
        Int64(spelling)
            ?? (spelling.contains { ".eE".contains($0) } ? Double(spelling).flatMap { Int64(exactly: $0) } : nil)
    }

    /// The value, or `nil` if it is `null`, which is treated as absent.
    var present: JSONTree? { self == .null ? nil : self }

    /// The members of an object; `nil` for any other value.
    var members: [String: JSONTree]? { if case .object(let members) = self { members } else { nil } }

    /// The elements of an array; `nil` for any other value.
    var elements: [JSONTree]? { if case .array(let elements) = self { elements } else { nil } }
}

extension JSONTree {
    /// A text; a whole number as decimal digits, any other number as written.
    var asText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .number(let spelling): spelling
        case .flag(let flag): String(flag)
        case .null, .array, .object: nil
        }
    }

    /// A whole number, or a text that is a whole number.
    var asInteger: Int64? {
        switch self {
        case .text(let text): Int64(text)
        case .integer(let number): number
        case .flag(let flag): flag ? 1 : 0
        case .number, .null, .array, .object: nil
        }
    }

    /// An instant in milliseconds since 1970. A fraction of a millisecond, which Xcode writes, is cut off.
    var asMilliseconds: Int64? {
        guard case .number(let spelling) = self else { return asInteger }
        return Double(spelling).flatMap { Int64(exactly: $0.rounded(.down)) }
    }

    /// `true`, `1`, `"true"` or `"1"`, or the opposite.
    var asFlag: Bool? {
        switch asText {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }
}

extension JSONWriter {
    /// Writes a value. The members of an object are written in the order of their names.
    mutating func value(_ tree: JSONTree) {
        switch tree {
        case .text(let text): value(text)
        case .integer(let number): value(number)
        case .number(let spelling): values(json: Array(spelling.utf8))
        case .flag(let flag): value(flag)
        case .null: null()
        case .array(let elements):
            beginArray()
            for element in elements { value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                key(name)
                value(member)
            }
            endObject()
        }
    }
}
