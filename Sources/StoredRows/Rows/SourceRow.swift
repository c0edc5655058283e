/// One row of a source.
package struct SourceRow: Sendable, Hashable {
    /// Row number, from 1 without gaps. Blank lines are not counted.
    package let number: Int64
    /// Id of the row; `nil` if it is missing, empty or not UTF-8.
    package let id: String?
    package let value: StoredValue
    /// The user's UUID, if a column was selected for it; `nil` if it is missing, empty or not UTF-8.
    package let accountToken: String?

    /// Creates a row.
    package init(number: Int64, id: String?, value: StoredValue, accountToken: String? = nil) {
        self.number = number
        self.id = id
        self.value = value
        self.accountToken = accountToken
    }
}

/// The value in a row's receipt column.
package enum StoredValue: Sendable, Hashable {
    /// Text or raw bytes as stored, not empty. Quotes and escapes of the file format are removed; nothing else is
    /// changed.
    case bytes([UInt8])
    /// No value: the key does not exist, or it is NULL, an empty text or an empty file.
    case missing
    /// The row cannot be read. `code` is stable, and `reason` contains no data of the row.
    case unreadable(code: String, reason: String)
}

extension StoredValue {
    /// Creates a value, which is ``missing`` if there are no bytes.
    init(bytes: [UInt8]) {
        self = bytes.isEmpty ? .missing : .bytes(bytes)
    }

    /// Returns the value for data that exceeds a size limit.
    static func tooLarge(_ what: String, limit: Int) -> StoredValue {
        .unreadable(code: "tooLarge", reason: "\(what) is longer than \(limit) bytes")
    }

    /// Number of bytes, for the limit of a batch.
    var size: Int {
        if case .bytes(let bytes) = self { bytes.count } else { 0 }
    }
}
