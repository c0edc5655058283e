/// What a source has beside a receipt, an id or an account token: never mended, because others are to find it again.
enum SourceText: Sendable, Hashable {
    /// There is none, or the empty text.
    case missing
    case text(String)
    /// Bytes that are not UTF-8, or half a surrogate pair.
    case malformed

    /// - Parameter bytes: nil where there are none.
    init(_ bytes: [UInt8]?) {
        guard let bytes, !bytes.isEmpty else {
            self = .missing
            return
        }
        self = String(validating: bytes, as: UTF8.self).map(SourceText.text) ?? .malformed
    }

    /// Nil where there is none that can be read.
    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }
}

extension SourceRow {
    /// A row with a text that is malformed cannot be read.
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
