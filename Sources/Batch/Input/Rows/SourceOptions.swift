/// Names of the columns and keys in a source. A run must be resumed with the same options.
package struct SourceOptions: Sendable, Hashable, Codable {
    /// Column or key of the receipt. If `nil`: `receipt`, in JSON also `receipt-data`, otherwise the only column with
    /// another usual name, see ``ColumnNames``.
    package var receiptColumn: String?
    /// Column or key of the id, which must exist. If `nil`: `id`, if it exists.
    package var idColumn: String?
    /// Column or key of the user's UUID; `nil` for none.
    package var accountTokenColumn: String?
    /// Column or key of transaction ids, which are looked up if there is no receipt; `nil` for none.
    package var transactionIdColumn: String?
    /// Table of a database. If `nil`: the only table, or `receipts` if there are several.
    package var table: String?
    /// Format of a text source whose name does not state it; `nil` to use the name.
    package var format: TextFormat?

    /// JSON keys that make the whole line the value of the row.
    var wholeLineKeys: [String] = []

    /// Creates options. `nil` selects the default names.
    package init(
        receiptColumn: String? = nil, idColumn: String? = nil, accountTokenColumn: String? = nil,
        transactionIdColumn: String? = nil, table: String? = nil, format: TextFormat? = nil
    ) {
        self.receiptColumn = receiptColumn
        self.idColumn = idColumn
        self.accountTokenColumn = accountTokenColumn
        self.transactionIdColumn = transactionIdColumn
        self.table = table
        self.format = format
    }
}

/// A text format of sources and results.
package enum TextFormat: String, Sendable, Hashable, Codable, CaseIterable {
    case jsonLines = "jsonl"
    case csv
}

/// The purpose of a source.
package enum SourceUse: Sendable, Hashable {
    /// A run that can be resumed at a position.
    case resumable
    /// A filter, whose result has a row for each line. Rows are returned as soon as the input pauses. A blank line of
    /// JSON is a row too. A row without an id gets the digest of its line as its id, see ``LineDigest``.
    case filter
}

/// Limits on the memory for a source and on the size of a row.
package struct SourceLimits: Sendable, Hashable {
    /// Number of bytes to read at a time (256 KiB). The buffer grows for a longer row.
    package var chunk = 1 << 18
    /// Maximum bytes (16 MiB) of a JSON line, a CSV record, a table value or a file.
    package var row = 16 << 20
    /// Maximum bytes (8 MiB) of a receipt in CSV.
    package var field = 8 << 20
    /// Maximum number of lines in a CSV record, which limits the effect of a quote that is not closed. A receipt of
    /// the largest size that Apple's endpoint accepts has fewer lines of 64 characters.
    package var quotedLines = 50_000
    /// Maximum number of names of one directory in memory.
    package var names = 1 << 16
    /// Paths of files in a directory that are excluded. For example, the output of the run.
    var excludedPaths: [String] = []

    package init() {}
}
