/// One row of a source, in its order.
package struct SourceRow: Sendable, Hashable {
    /// From 1, without gaps, whatever lies between the rows.
    package let number: Int64
    /// Nil where it is missing, empty or not UTF-8.
    package let id: String?
    package let value: StoredValue
    /// The user's UUID, where a column with it was named; nil where it is missing, empty or not UTF-8.
    package let accountToken: String?

    package init(number: Int64, id: String?, value: StoredValue, accountToken: String? = nil) {
        self.number = number
        self.id = id
        self.value = value
        self.accountToken = accountToken
    }
}

/// What a row holds where a receipt is expected.
package enum StoredValue: Sendable, Hashable {
    /// Text or raw bytes as stored: what the format did to them is undone (quotes, escapes), nothing else. Not empty.
    case bytes([UInt8])
    /// Nothing is there: no such member, NULL, the empty text, an empty file.
    case missing
    /// The row cannot be read: a stable code, and a sentence without anything that stands in the row.
    case unreadable(code: String, reason: String)
}

extension StoredValue {
    /// - Parameter bytes: ``missing`` where there are none.
    init(bytes: [UInt8]) {
        self = bytes.isEmpty ? .missing : .bytes(bytes)
    }

    /// More bytes than we read into memory for one row.
    static func tooLarge(_ what: String, limit: Int) -> StoredValue {
        .unreadable(code: "tooLarge", reason: "\(what) is longer than \(limit) bytes")
    }

    /// For the sum of a batch.
    var size: Int {
        if case .bytes(let bytes) = self { bytes.count } else { 0 }
    }
}
