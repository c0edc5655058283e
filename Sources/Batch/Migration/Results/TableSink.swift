import Base
import Storage

/// A SQLite database with one table `results`: text, numbers, Boolean values as 0 and 1, arrays as JSON text. With the
/// App Store Server API, it also has a view for each ``FlatTable``.
struct TableSink: ResultSink {
    private let columns: [ResultColumn]
    private let table: ResultsTable
    private var row = RowBuffer()

    /// Opens the database.
    ///
    /// - Parameter position: Position to resume from; `nil` for a new file.
    init(
        path: String, _ columns: [ResultColumn], at position: SinkPosition?, lockTimeout: Double? = nil
    ) throws(SinkError) {
        self.columns = columns
        let columns = columns.map { ResultsTable.Column($0.rawValue, $0.isNumber ? .integer : .text) }
        let tables = FlatTable.allCases.filter { table in columns.contains { $0.name == table.rawValue } }
        if position ?? .start == .start {
            // Create the file first, because SQLite would make it readable for all users. Existing rows are deleted
            // with SQL, not by truncating the file.
            try Files.makePrivate(at: path, mustBeEmpty: position == nil)
        } else if !Files.exists(path) {
            // SQLite would create a new file.
            throw SinkError(.changed, at: path, "the file no longer exists")
        }
        table = try asSinkError { () throws(StorageError) in
            try ResultsTable(
                path: path, columns: columns, keeping: position?.rows ?? 0,
                views: tables.map(\.sqliteView), lockTimeout: lockTimeout)
        }
    }

    mutating func write(_ result: ResultRow) throws(SinkError) -> WriteResult {
        row.removeAll()
        for column in columns {
            switch column.value(of: result) {
            case .null: row.appendNull()
            case .text(let text): row.append(text)
            case .number(let number): row.append(number)
            case .flag(let flag): row.append(flag ? 1 : 0)
            case .texts(let texts): row.append(utf8: texts.isEmpty ? Self.noTexts : JSONWriter.array(texts))
            case .json(let bytes): row.append(utf8: bytes)
            }
        }
        return try asSinkError { () throws(StorageError) in try table.insert(row) ? .written : .repeatedId }
    }

    mutating func checkpoint() throws(SinkError) -> SinkPosition {
        try asSinkError { () throws(StorageError) in try table.commit() }
        return SinkPosition(rows: table.rows, bytes: 0)
    }

    mutating func close() throws(SinkError) {
        try asSinkError { () throws(StorageError) in try table.close() }
    }

    private static let noTexts = Array("[]".utf8)
}

extension ResultColumn {
    /// `true` if the column has the SQLite type INTEGER.
    fileprivate var isNumber: Bool { self == .verified || self == .appAppleId || self == .row }
}
