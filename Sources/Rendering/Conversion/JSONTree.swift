import Foundation

/// A JSON document as values, for conversions: not on the way of a request.
enum JSONTree: Decodable, Sendable, Hashable {
    case text(String)
    /// A whole number of 64 bits, exactly.
    case integer(Int64)
    /// Any other number.
    case decimal(Decimal)
    case flag(Bool)
    case null
    case array([JSONTree])
    case object([String: JSONTree])

    /// What is common in answers is tried first.
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let members = try? value.decode([String: JSONTree].self) {
            self = .object(members)
        } else if let elements = try? value.decode([JSONTree].self) {
            self = .array(elements)
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? value.decode(Int64.self) {
            self = .integer(number)
        } else if value.decodeNil() {
            self = .null
        } else {
            self = .decimal(try value.decode(Decimal.self))
        }
    }

    /// Nil for `null`, which is the same as absent.
    var present: JSONTree? { self == .null ? nil : self }

    var members: [String: JSONTree]? { if case .object(let members) = self { members } else { nil } }

    var elements: [JSONTree]? { if case .array(let elements) = self { elements } else { nil } }
}

extension JSONTree {
    /// A text; a number as its digits.
    var asText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .decimal(let number): number.description
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
        case .decimal, .null, .array, .object: nil
        }
    }

    /// An instant; fractions of a millisecond, which Xcode writes, are cut off.
    var asMilliseconds: Int64? {
        guard case .decimal(let number) = self else { return asInteger }
        return Int64(exactly: NSDecimalNumber(decimal: number).doubleValue.rounded(.down))
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
        case .decimal(let number): values(json: Array(number.description.utf8))
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
