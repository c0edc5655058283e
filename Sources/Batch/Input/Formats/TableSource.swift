import Cryptography
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
            try SQLiteTableReader(
                path: path, table: options.table, receiptColumn: options.receiptColumn,
                idColumn: options.idColumn, accountTokenColumn: options.accountTokenColumn)
        }
        let fingerprint = try Self.fingerprint(of: table)
        identity = Self.identity(fingerprint)
        firstKey = fingerprint.first?.split(separator: " ").first.flatMap { Int64($0) }
        lastKey = position.flatMap { Int64($0.place) }
        nextRowNumber = position?.nextRowNumber ?? 1
        guard position == nil || lastKey != nil else {
            throw SourceError(.changed, at: path, "the saved position is of a different kind of source")
        }
    }

    private static func fingerprint(of table: SQLiteTableReader) throws(SourceError)
        -> SQLiteTableReader.TableFingerprint
    {
        try asSourceError { () throws(StorageError) in try table.fingerprint() }
    }

    /// Returns the largest rowid, and a digest of the table's definition with the rowid and id of its first row.
    private static func identity(_ fingerprint: SQLiteTableReader.TableFingerprint) -> SourceIdentity {
        let beginning = "\(fingerprint.table)\n\(fingerprint.schema)\n\(fingerprint.first ?? "")"
        return SourceIdentity(
            kind: .table, size: fingerprint.lastKey, digest: SHA.hex(Array(beginning.utf8), with: .sha256))
    }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        Self.identity(try Self.fingerprint(of: table)).comparison(with: earlier, unit: "row")
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
            SourceRow(
                number: number, id: SourceText(row.id), value: StoredValue(row.value, limit: maximumValueBytes),
                accountToken: SourceText(row.accountToken))
        }
        nextRowNumber += Int64(rows.count)
        lastKey = last.key
        return SourceBatch(rows: rows, end: SourcePosition(place: "\(last.key)", nextRowNumber: nextRowNumber))
    }
}

extension StoredValue {
    fileprivate init(_ value: SQLiteTableReader.Value, limit: Int) {
        switch value {
        case .bytes(let bytes): self.init(bytes: bytes)
        case .missing: self = .missing
        case .number: self = .unreadable(code: "notText", reason: "a number instead of a receipt")
        case .tooLarge: self = .tooLarge("the value", limit: limit)
        }
    }
}
