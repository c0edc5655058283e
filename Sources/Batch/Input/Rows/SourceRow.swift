import ReceiptBridgeReceipts

/// One row of a source.
package struct SourceRow: Sendable, Hashable {
    /// Row number, from 1 without gaps. Blank lines are not counted.
    package let number: Int64
    /// Id of the row; `nil` if it is missing, empty or not UTF-8.
    package let id: String?
    package let value: StoredValue
    /// The user's UUID, if a column was selected for it; `nil` if it is missing, empty or not UTF-8.
    package let accountToken: String?
    /// The value in the column of transaction ids; `nil` if no such column was selected, or if it is empty.
    package let transactionIds: [UInt8]?

    package init(
        number: Int64, id: String?, value: StoredValue, accountToken: String? = nil, transactionIds: [UInt8]? = nil
    ) {
        self.number = number
        self.id = id
        self.value = value
        self.accountToken = accountToken
        self.transactionIds = transactionIds
    }
}

/// The value in a row's receipt column.
package enum StoredValue: Sendable, Hashable {
    /// Text or raw bytes as stored, not empty. Quotes and escapes of the file format are removed; nothing else is
    /// changed.
    case bytes([UInt8])
    /// No value: the key does not exist, or it is NULL, also as text (`NULL`, `None`, `nan`), or a blank text or an
    /// empty file.
    case missing
    /// The row cannot be read. `code` is stable, and `reason` contains no data of the row.
    case unreadable(code: String, reason: String)
}

extension StoredValue {
    /// Creates a value, which is ``missing`` if there is only white space, or a text that stands for no value in
    /// exports.
    init(bytes: [UInt8]) {
        self = TextShape.isNothing(bytes) ? .missing : .bytes(bytes)
    }

    static func tooLarge(_ what: String, limit: Int) -> StoredValue {
        .unreadable(code: "tooLarge", reason: "\(what) is longer than \(limit) bytes")
    }

    var bytes: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// Number of bytes, for the limit of a batch.
    var size: Int { bytes?.count ?? 0 }
}

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

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }
}

extension SourceRow {
    /// The row is unreadable if a text is malformed.
    init(
        number: Int64, id: SourceText, value: StoredValue, accountToken: SourceText, transactionIds: [UInt8]? = nil
    ) {
        var value = value
        switch (value, id, accountToken) {
        case (.unreadable, _, _): break
        case (_, .malformed, _): value = .unreadable(code: "malformedId", reason: "the id is not UTF-8")
        case (_, _, .malformed):
            value = .unreadable(code: "malformedAccountToken", reason: "the account token is not UTF-8")
        default: break
        }
        self.init(
            number: number, id: id.text, value: value, accountToken: accountToken.text, transactionIds: transactionIds)
    }
}
