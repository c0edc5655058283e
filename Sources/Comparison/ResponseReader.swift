import JSON
import Responses
import AppStoreTypes

/// Reads the objects of a verifyReceipt response leniently: numbers may be texts, and texts may be numbers. A value
/// that cannot be converted to its type stays a text, so it differs from every valid value.
struct ResponseReader {
    let outline: JSONOutline

    /// Reads one object. Keys that are not in `keys` become extras under their own names.
    func row(_ index: Int, _ keys: [String: ResponseKeys.Meaning]) -> ComparedRow {
        var row = ComparedRow()
        var properties: [String: ComparedValue] = [:]
        var dates: [String] = []
        for child in outline.children(of: index) {
            guard !outline.isNull(child), let name = outline.name(child) else { continue }
            guard let meaning = keys[name] ?? keys[name.replacing("-", with: "_")] else {
                properties[name] = raw(child)
                continue
            }
            switch meaning.target {
            case .field(let field): read(child, meaning.part, into: &row[field])
            case .property(let name):
                read(child, meaning.part, into: &properties[name])
                if case .text? = properties[name], meaning.isDate { dates.append(name) }
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
    private func read(_ index: Int, _ part: ResponseKeys.Part, into value: inout ComparedValue?) {
        switch part {
        case .milliseconds: value = milliseconds(index) ?? nonEmptyRaw(index) ?? value
        case .value(let kind) where kind == .instant || kind == .cancellation:
            if value?.instant == nil, let exact = milliseconds(index) { value = exact }
            if value == nil { value = nonEmptyRaw(index) }
        case .value(let kind): value = scalar(index, kind)
        case .formatted: if value == nil { value = nonEmptyRaw(index) }
        case .repetition: break
        }
    }

    /// Returns a number, or a text of digits as a number.
    func integer(_ index: Int) -> Int64? { text(index).flatMap { Int64($0) } }

    /// Returns a text, or the characters of a number; `nil` for containers.
    func text(_ index: Int) -> String? {
        let span = outline.bytes.span
        switch outline.nodes[index].value {
        case .string(let string): return string.text(in: span)
        case .scalar(let range): return JSONString(range: range).text(in: span)
        case .container: return nil
        }
    }

    /// Reads a date in milliseconds; `nil` if it is not a number or beyond ``maximumMilliseconds``.
    private func milliseconds(_ index: Int) -> ComparedValue? {
        guard let number = integer(index), (-Self.maximumMilliseconds...Self.maximumMilliseconds).contains(number)
        else { return nil }
        return .instant(Timestamp(milliseconds: number))
    }

    /// Limit on dates: 100,000,000 days before or after 1970, in milliseconds. Sums of such dates cannot overflow.
    private static let maximumMilliseconds: Int64 = 8_640_000_000_000_000

    /// Converts a date that is present only as text. This is done last because most dates also have milliseconds, and
    /// parsing a text takes a thousand times as long.
    private func normalize(_ value: inout ComparedValue?) {
        guard let text = value?.text, let instant = DateText.instant(text) else { return }
        value = .instant(instant)
    }

    /// Reads a scalar of the given kind. An empty text is no value. A text that is not of this kind stays a text.
    private func scalar(_ index: Int, _ kind: ValueKind) -> ComparedValue? {
        guard let text = text(index) else { return raw(index) }
        guard !text.isEmpty else { return nil }
        switch kind {
        case .number, .numberText: return Int64(text).map(ComparedValue.number) ?? .text(text)
        case .flag, .flagText:
            switch text {
            case "true", "1": return .flag(true)
            case "false", "0": return .flag(false)
            default: return .text(text)
            }
        default: return .text(text)
        }
    }

    /// Returns the raw value; `nil` for an empty text.
    private func nonEmptyRaw(_ index: Int) -> ComparedValue? { text(index) == "" ? nil : raw(index) }

    /// Returns the raw value: the characters of a scalar, or the JSON of a container.
    private func raw(_ index: Int) -> ComparedValue? {
        if let text = text(index) { return .text(text) }
        let range = outline.nodes[index].value.whole
        // 1,024 bytes are enough to see a difference and few enough to store.
        return .text(String(decoding: outline.bytes[range].prefix(1_024), as: UTF8.self))
    }
}
