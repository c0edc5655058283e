import Storage

/// A source that reads a SQLite table: one row for each table row, in the order of rowids. A position is a rowid.
///
/// Other processes may write to the database at the same time, see ``SQLiteTableReader``.
struct TableSource: RowSource {
    let identity: SourceIdentity

    private let table: SQLiteTableReader
    /// Maximum length of a value in bytes. A longer value is an unreadable row.
    private let maximumValueBytes: Int
    /// Rowid of the first row when the table was opened.
    private let firstKey: Int64?
    private var lastKey: Int64?
    private var nextRowNumber: Int64

    init(
        path: String, options: SourceOptions, limits: SourceLimits, at position: SourcePosition?
    ) throws(SourceError) {
        maximumValueBytes = limits.row
        table = try asSourceError { () throws(StorageError) in
            try SQLiteTableReader(path: path, options: options)
        }
        (identity, firstKey) = try Self.fingerprint(of: table)
        lastKey = position.flatMap { Int64($0.place) }
        nextRowNumber = position?.nextRowNumber ?? 1
        guard position == nil || lastKey != nil else {
            throw SourceError(.changed, at: path, "the saved position is of a different kind of source")
        }
    }

    private static func fingerprint(
        of table: SQLiteTableReader
    ) throws(SourceError) -> (identity: SourceIdentity, firstKey: Int64?) {
        try asSourceError { () throws(StorageError) in try table.fingerprint() }
    }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        try Self.fingerprint(of: table).identity.comparison(with: earlier, unit: "row")
    }

    /// An estimate that assumes rowids without gaps.
    var fraction: Double? {
        guard let firstKey, let end = identity.size, end > firstKey else { return nil }
        let done = Double(lastKey ?? firstKey) - Double(firstKey)
        return min(max(done / (Double(end) - Double(firstKey)), 0), 1)
    }

    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch? {
        let found = try asSourceError { () throws(StorageError) in
            try table.rows(
                after: lastKey, maximumRows: maximumRows, maximumBytes: max(maximumBytes, 1),
                largestValue: maximumValueBytes)
        }
        guard let last = found.last else { return nil }
        let rows = zip(nextRowNumber..., found).map { number, row in
            SourceRow(number: number, id: row.id, value: row.value, accountToken: row.accountToken)
        }
        nextRowNumber += Int64(rows.count)
        lastKey = last.key
        return SourceBatch(rows: rows, end: SourcePosition(place: "\(last.key)", nextRowNumber: nextRowNumber))
    }
}
