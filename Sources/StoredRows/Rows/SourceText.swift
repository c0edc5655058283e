/// An id or account token of a row. Never repaired, because it has to match the original.
enum SourceText: Sendable, Hashable {
    /// No value, or an empty text.
    case missing
    case text(String)
    /// Not UTF-8, or an unpaired surrogate.
    case malformed

    /// Validates bytes. `nil` and empty are ``missing``.
    init(_ bytes: [UInt8]?) {
        guard let bytes, !bytes.isEmpty else {
            self = .missing
            return
        }
        self = String(validating: bytes, as: UTF8.self).map(SourceText.text) ?? .malformed
    }

    /// The text; `nil` if it is missing or malformed.
    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }
}

extension SourceRow {
    /// Creates a row, which is unreadable if a text is malformed.
    init(number: Int64, id: SourceText, value: StoredValue, accountToken: SourceText) {
        var value = value
        switch (value, id, accountToken) {
        case (.unreadable, _, _): break
        case (_, .malformed, _): value = .unreadable(code: "malformedId", reason: "the id is not UTF-8")
        case (_, _, .malformed):
            value = .unreadable(code: "malformedAccountToken", reason: "the account token is not UTF-8")
        default: break
        }
        self.init(number: number, id: id.text, value: value, accountToken: accountToken.text)
    }
}
