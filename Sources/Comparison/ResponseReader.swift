import JSONReading
import Rendering
import StoreTypes

/// Reads the objects of a verifyReceipt answer, leniently: numbers may be texts and texts numbers; what cannot be read
/// as its kind stays a text, so that it differs from everything.
struct ResponseReader {
    let outline: JSONOutline

    /// One object by its keys; what the tables do not know goes to the extras, under its own key.
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

    private func read(_ index: Int, _ part: ResponseKeys.Part, into value: inout ComparedValue?) {
        switch part {
        case .milliseconds: value = milliseconds(index) ?? said(index) ?? value
        case .value(let kind) where kind == .instant || kind == .cancellation:
            if value?.instant == nil, let exact = milliseconds(index) { value = exact }
            if value == nil { value = said(index) }
        case .value(let kind): value = scalar(index, kind)
        case .formatted: if value == nil { value = said(index) }
        case .repetition: break
        }
    }

    /// A number, or a text of digits.
    func integer(_ index: Int) -> Int64? { text(index).flatMap { Int64($0) } }

    /// A text, or the characters of a number; nil for containers.
    func text(_ index: Int) -> String? {
        let span = outline.bytes.span
        switch outline.nodes[index].value {
        case .string(let string): return string.text(in: span)
        case .scalar(let range): return JSONString(range: range).text(in: span)
        case .container: return nil
        }
    }

    private func milliseconds(_ index: Int) -> ComparedValue? {
        guard let number = integer(index), (-Self.farthest...Self.farthest).contains(number) else { return nil }
        return .instant(Timestamp(milliseconds: number))
    }

    /// 271,821 years around 1970: sums of such dates cannot overflow.
    private static let farthest: Int64 = 8_640_000_000_000_000

    /// A date that stands only as text is read last: beside most the milliseconds stand, and reading a text takes
    /// a thousand times as long.
    private func normalize(_ value: inout ComparedValue?) {
        guard let text = value?.text, let instant = DateText.instant(text) else { return }
        value = .instant(instant)
    }

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

    /// As it stands; an empty text says nothing.
    private func said(_ index: Int) -> ComparedValue? { text(index) == "" ? nil : raw(index) }

    /// As it stands: scalars by their characters, containers by their JSON.
    private func raw(_ index: Int) -> ComparedValue? {
        if let text = text(index) { return .text(text) }
        let range = outline.nodes[index].value.whole
        // Long enough to differ where a person would look, short enough to keep.
        return .text(String(decoding: outline.bytes[range].prefix(1_024), as: UTF8.self))
    }
}
