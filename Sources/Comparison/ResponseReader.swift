import Base
import Responses

/// Reads the objects of a verifyReceipt response leniently: numbers may be texts, and texts may be numbers. A value
/// that cannot be converted to its type stays a text, so it differs from every valid value.
enum ResponseReader {
    /// Reads one object. Keys that are not in `keys` become extras under their own names.
    static func row(_ object: DocumentObject, _ keys: [String: ResponseKeys.Meaning]) -> ComparedRow {
        var row = ComparedRow()
        var properties: [String: ComparedValue] = [:]
        var dates: [String] = []
        for (name, value) in object.members {
            guard let meaning = keys[name] ?? keys[name.replacing("-", with: "_")] else {
                properties[name] = raw(value)
                continue
            }
            switch meaning.target {
            case .field(let field): read(value, meaning, into: &row[field])
            case .property(let name):
                read(value, meaning, into: &properties[name])
                if case .text? = properties[name], meaning.date != nil { dates.append(name) }
            }
        }
        for field in RowField.dates { normalize(&row[field]) }
        for name in dates { normalize(&properties[name]) }
        if !properties.isEmpty {
            row.extras = properties.map { ComparedRow.Extra(name: $0.key, value: $0.value) }.sorted {
                $0.name < $1.name
            }
        }
        return row
    }

    /// Reads a key into a value. Milliseconds have precedence over all texts of the same date, in any key order.
    private static func read(
        _ source: DocumentValue, _ meaning: ResponseKeys.Meaning, into value: inout ComparedValue?
    ) {
        switch meaning.date {
        case .milliseconds?: value = milliseconds(source) ?? nonEmptyRaw(source) ?? value
        case .plain?:
            if value?.instant == nil, let exact = milliseconds(source) { value = exact }
            if isReplaceable(value) { value = nonEmptyRaw(source) ?? value }
        case .formatted?: if isReplaceable(value) { value = nonEmptyRaw(source) ?? value }
        case .losAngeles?, .formattedLosAngeles?: if value == nil { value = nonEmptyRaw(source) }
        case nil: value = scalar(source, meaning.kind)
        }
    }

    /// Returns whether the date was not read yet, or only in the time zone that is read last.
    private static func isReplaceable(_ value: ComparedValue?) -> Bool {
        value.map { $0.text?.hasSuffix("America/Los_Angeles") == true } ?? true
    }

    /// Reads a date in milliseconds; `nil` if it is not a number or beyond ``maximumMilliseconds``.
    private static func milliseconds(_ source: DocumentValue) -> ComparedValue? {
        guard let number = source.integer, (-Self.maximumMilliseconds...Self.maximumMilliseconds).contains(number)
        else { return nil }
        return .instant(Timestamp(milliseconds: number))
    }

    /// Limit on dates: 100,000,000 days before or after 1970, in milliseconds. Sums of such dates cannot overflow.
    private static let maximumMilliseconds: Int64 = 8_640_000_000_000_000

    /// Converts a date that is present only as text. This is done last because most dates also have milliseconds, and
    /// parsing a text takes a thousand times as long.
    private static func normalize(_ value: inout ComparedValue?) {
        guard let text = value?.text, let instant = Timestamp(responseText: text) else { return }
        value = .instant(instant)
    }

    /// Reads a scalar of the given kind. An empty text is no value. A text that is not of this kind stays a text.
    private static func scalar(_ source: DocumentValue, _ kind: ValueKind) -> ComparedValue? {
        guard let text = source.text else { return raw(source) }
        guard !text.isEmpty else { return nil }
        switch kind {
        case .number, .numberText: return number(source, text).map(ComparedValue.number) ?? .text(text)
        case .flag, .flagText:
            switch text {
            case "true", "1": return .flag(true)
            case "false", "0": return .flag(false)
            default: return .text(text)
            }
        default: return .text(text)
        }
    }

    /// Returns a whole number; `true` is 1 and `false` is 0, if they are not texts.
    private static func number(_ source: DocumentValue, _ text: String) -> Int64? {
        if source.string == nil, text == "true" || text == "false" { return text == "true" ? 1 : 0 }
        return source.integer
    }

    /// Returns the raw value; `nil` for an empty text.
    private static func nonEmptyRaw(_ source: DocumentValue) -> ComparedValue? {
        source.text == "" ? nil : raw(source)
    }

    /// Returns the raw value: the characters of a scalar, or the JSON of a container.
    private static func raw(_ source: DocumentValue) -> ComparedValue? {
        if let text = source.text { return .text(text) }
        // 1,024 bytes are enough to see a difference and few enough to store.
        return .text(String(decoding: source.json.prefix(1_024), as: UTF8.self))
    }
}
