import JSONReading

/// A JSON document as values, for conversions: not on the way of a request.
enum JSONTree: Sendable, Hashable {
    case text(String)
    /// A whole number of 64 bits, exactly.
    case integer(Int64)
    /// Any other number, as it is spelled.
    case number(String)
    case flag(Bool)
    case null
    case array([JSONTree])
    case object([String: JSONTree])

    /// A value of a document; of repeated names the last one counts. Nil where a text or a name in it is not UTF-8.
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

    private static func scalar(_ spelling: String) -> JSONTree {
        switch spelling {
        case "true": .flag(true)
        case "false": .flag(false)
        case "null": .null
        default: wholeNumber(spelling).map(JSONTree.integer) ?? .number(spelling)
        }
    }

    /// `4990.0` and `5e3` are whole numbers, too. Nothing but digits is not read as a `Double`, which would round it.
    private static func wholeNumber(_ spelling: String) -> Int64? {
        Int64(spelling)
            ?? (spelling.contains { ".eE".contains($0) } ? Double(spelling).flatMap { Int64(exactly: $0) } : nil)
    }

    /// Nil for `null`, which is the same as absent.
    var present: JSONTree? { self == .null ? nil : self }

    var members: [String: JSONTree]? { if case .object(let members) = self { members } else { nil } }

    var elements: [JSONTree]? { if case .array(let elements) = self { elements } else { nil } }
}

extension JSONTree {
    /// A text; a number as it is spelled, a whole one as its digits.
    var asText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .number(let spelling): spelling
        case .flag(let flag): String(flag)
        case .null, .array, .object: nil
        }
    }

    /// A whole number, or a text that is one.
    var asInteger: Int64? {
        switch self {
        case .text(let text): Int64(text)
        case .integer(let number): number
        case .flag(let flag): flag ? 1 : 0
        case .number, .null, .array, .object: nil
        }
    }

    /// An instant; fractions of a millisecond, which Xcode writes, are cut off.
    var asMilliseconds: Int64? {
        guard case .number(let spelling) = self else { return asInteger }
        return Double(spelling).flatMap { Int64(exactly: $0.rounded(.down)) }
    }

    /// `true`, `1`, `"true"` or `"1"`, and their opposites.
    var asFlag: Bool? {
        switch asText {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }
}

extension JSONWriter {
    /// A value of a document; of objects the members in the order of their names.
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
