/// Where in a source the receipts stand; a run that goes on must be told the same as the one before.
package struct SourceOptions: Sendable, Hashable, Codable {
    /// A column or key; nil for `receipt`, in JSON also `receipt-data`.
    package var receiptColumn: String?
    /// A column or key that must be there; nil for `id`, where there is one.
    package var idColumn: String?
    /// A column or key with the user's UUID; nil for none.
    package var accountTokenColumn: String?
    /// Of a database: nil for the only table, or `receipts` where there are several.
    package var table: String?

    /// A line of JSON with one of these keys is a row as a whole: its value is the line.
    package var wholeLineKeys: [String] = []

    package init(
        receiptColumn: String? = nil, idColumn: String? = nil, accountTokenColumn: String? = nil, table: String? = nil
    ) {
        self.receiptColumn = receiptColumn
        self.idColumn = idColumn
        self.accountTokenColumn = accountTokenColumn
        self.table = table
    }
}

/// How much of a source is in memory at a time, and how much one row may have.
package struct SourceLimits: Sendable, Hashable {
    /// Bytes to read at a time; more only for a row that is longer.
    package var chunk = 1 << 18
    /// Bytes of a line of JSON, of a record of CSV, of a value in a table, of a file in a folder.
    package var row = 16 << 20
    /// Bytes of a receipt in CSV.
    package var field = 8 << 20
    /// Lines of a record of CSV, through a quote that does not close: more than any receipt that Apple's endpoint takes
    /// has, in lines of 64 characters.
    package var quotedLines = 50_000
    /// Names of one folder in memory.
    package var names = 1 << 16
    /// Paths of files that are no rows of a folder: what is written while it is read.
    package var leftOut: [String] = []

    package init() {}
}
