import Base

/// A text, number or literal of a document that is converted. It is read leniently: numbers may be texts, and texts may
/// be numbers.
enum JSONScalar: Sendable, Hashable {
    case text(String)
    /// A whole number that fits exactly into 64 bits.
    case integer(Int64)
    /// Any other number, exactly as written.
    case number(String)
    case flag(Bool)
    case null
}

extension DocumentValue {
    /// The value; `nil` if it is an object or an array.
    var scalar: JSONScalar? {
        guard string == nil else { return text.map(JSONScalar.text) }
        switch text {
        case "true"?: return .flag(true)
        case "false"?: return .flag(false)
        default: return integer.map(JSONScalar.integer) ?? text.map(JSONScalar.number)
        }
    }
}

extension JSONScalar {
    /// A text; a whole number as decimal digits, any other number as written.
    var asText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .number(let spelling): spelling
        case .flag(let flag): String(flag)
        case .null: nil
        }
    }

    /// A whole number, or a text that is a whole number; `true` is 1 and `false` is 0.
    var asInteger: Int64? {
        switch self {
        case .text(let text): Int64(text)
        case .integer(let number): number
        case .flag(let flag): flag ? 1 : 0
        case .number, .null: nil
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
    /// Writes a scalar.
    mutating func value(_ scalar: JSONScalar) {
        switch scalar {
        case .text(let text): value(text)
        case .integer(let number): value(number)
        case .number(let spelling): values(json: Array(spelling.utf8))
        case .flag(let flag): value(flag)
        case .null: null()
        }
    }
}
