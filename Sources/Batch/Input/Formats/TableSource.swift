import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import GRDB
import GRDBSQLite
package import ReceiptBridgeStorage

/// A source that reads one table of a foreign SQLite database: one row for each table row, in the order of rowids. A
/// position is a rowid.
///
/// The connection is read-only. Each batch is a short transaction of its own, so that other processes can write in
/// between. A row that they insert after the last one read is delivered later; one inserted before it is not.
struct TableSource: RowSource {
    let identity: SourceIdentity

    private let queue: DatabaseQueue
    private let schema: TableSchema
    private let place: String
    /// Maximum length of a value in bytes. A longer value is an unreadable row.
    private let maximumValueBytes: Int
    /// Rowid of the first row when the table was opened.
    private let firstKey: Int64?
    private var lastKey: Int64?
    private var nextRowNumber: Int64

    /// Seconds to wait for a lock of another process.
    private static let timeout = 10.0.secondsAtTestSpeed(atLeast: 0.5)

    init(
        path: String, options: SourceOptions, limits: SourceLimits, at position: SourcePosition?
    ) throws(SourceError) {
        maximumValueBytes = limits.row
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Self.timeout)
        do throws(StorageError) {
            (queue, schema) = try asStorageError(at: path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                return (queue, try queue.inDatabase { try TableSchema(options, in: $0, at: path) })
            }
        } catch {
            throw SourceError(opening: path, error)
        }
        place = "\(path), table \(schema.table.text)"
        (identity, firstKey) = try Self.fingerprint(of: schema, in: queue, at: place)
        lastKey = position.flatMap { Int64($0.place) }
        nextRowNumber = position?.nextRowNumber ?? 1
        guard position == nil || lastKey != nil else {
            throw SourceError(.changed, at: path, "the saved position is of a different kind of source")
        }
    }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        try Self.fingerprint(of: schema, in: queue, at: place).identity.comparison(with: earlier, unit: "row")
    }

    /// An estimate that assumes rowids without gaps.
    var fraction: Double? {
        guard let firstKey, let end = identity.size, end > firstKey else { return nil }
        let done = Double(lastKey ?? firstKey) - Double(firstKey)
        return min(max(done / (Double(end) - Double(firstKey)), 0), 1)
    }

    var notices: [String] { [schema.notice].compactMap(\.self) }

    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch? {
        let columns = [schema.key] + ColumnRole.allCases.map { schema.columns[$0]?.description ?? "NULL" }
        let sql = """
            SELECT \(columns.joined(separator: ", ")) FROM \(schema.table)
            \(lastKey == nil ? "" : "WHERE \(schema.key) > ?") ORDER BY \(schema.key) LIMIT \(max(maximumRows, 1))
            """
        let arguments: StatementArguments = lastKey.map { [$0] } ?? []
        let (place, largest, first) = (place, maximumValueBytes, nextRowNumber)
        var (rows, bytes, last) = ([SourceRow](), 0, lastKey)
        try Self.read(queue, at: place) { db in
            try db.forEachRow(sql, arguments, while: { bytes < max(maximumBytes, 1) }) { found in
                let statement = found.handle
                // In a table without rowids the primary key can contain text, which SQLite sorts after all numbers.
                guard sqlite3_column_type(statement, 0) == SQLITE_INTEGER else {
                    throw StorageError(.unusableTable, at: place, "a primary key is not an integer")
                }
                let key = sqlite3_column_int64(statement, 0)
                // In a damaged table a key can come again, and reading after it would never end.
                if let last, key <= last {
                    throw StorageError(.damaged, at: place, "the keys of the rows do not ascend; the file is damaged")
                }
                let value = statement.value(at: 1, largest: largest)
                bytes += value.size
                rows.append(
                    SourceRow(
                        number: first + Int64(rows.count), id: statement.text(at: 2), value: value,
                        accountToken: statement.text(at: 3),
                        transactionIds: statement.text(at: 4).text.map { Array($0.utf8) }))
                last = key
            }
        }
        guard let end = last, !rows.isEmpty else { return nil }
        lastKey = end
        nextRowNumber += Int64(rows.count)
        return SourceBatch(rows: rows, end: SourcePosition(place: "\(end)", nextRowNumber: nextRowNumber))
    }

    /// Returns the identity of the table, which is its largest key and a digest of its definition with the key and id
    /// of its first row; and this first key. Reads them from the database on every call, because the table can grow.
    private static func fingerprint(
        of schema: TableSchema, in queue: DatabaseQueue, at place: String
    ) throws(SourceError) -> (identity: SourceIdentity, firstKey: Int64?) {
        let id = schema.columns[.id]?.description ?? "NULL"
        return try read(queue, at: place) { db in
            let first = try db.text(
                """
                SELECT \(schema.key) || ' ' || coalesce(hex(\(id)), '') FROM \(schema.table)
                ORDER BY \(schema.key) LIMIT 1
                """)
            let last = try db.row("SELECT CAST(max(\(schema.key)) AS INTEGER) FROM \(schema.table)")?.number(0)
            let beginning = "\(schema.table.text)\n\(schema.schema)\n\(first ?? "")"
            return (
                SourceIdentity(kind: .table, size: last, digest: SHA.hex(Array(beginning.utf8), with: .sha256)),
                first?.split(separator: " ").first.flatMap { Int64($0) }
            )
        }
    }

    private static func read<Value>(
        _ queue: DatabaseQueue, at place: String, _ body: (Database) throws -> Value
    ) throws(SourceError) -> Value {
        try asSourceError { () throws(StorageError) in try asStorageError(at: place) { try queue.inDatabase(body) } }
    }
}

extension SQLiteStatement {
    /// Returns a column as text: numbers as SQLite formats them, a BLOB as hexadecimal digits.
    fileprivate func text(at column: CInt) -> SourceText {
        let isBlob = sqlite3_column_type(self, column) == SQLITE_BLOB
        guard let bytes = isBlob ? blob(at: column) : utf8(at: column) else { return .missing }
        return SourceText(isBlob ? Hexadecimal.digits(of: bytes) : [UInt8](bytes))
    }

    fileprivate func value(at column: CInt, largest: Int) -> StoredValue {
        let bytes: UnsafeRawBufferPointer?
        switch sqlite3_column_type(self, column) {
        // A number, as its text, because it may be a transaction id.
        case SQLITE_TEXT, SQLITE_INTEGER, SQLITE_FLOAT: bytes = utf8(at: column)
        case SQLITE_BLOB: bytes = blob(at: column)
        default: bytes = nil
        }
        guard let bytes else { return .missing }
        guard bytes.count <= largest else { return .tooLarge("the value", limit: largest) }
        return StoredValue(bytes: [UInt8](bytes))
    }

    private func blob(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let start = sqlite3_column_blob(self, column) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column)))
    }
}

extension SourceError {
    /// Converts an error of opening a database, and explains a permission error of one in WAL mode. If SQLite may not
    /// create the `-shm` file in the folder, it only reports that it cannot open the database.
    package init(opening path: String, _ error: StorageError) {
        self.init(error)
        guard error.code == .notPermitted, Self.isInWriteAheadMode(path) else { return }
        self = SourceError(
            code, at: path,
            "the database is in WAL mode, and to read it this user must be able to write \(path)-shm in the same directory "
                + "(\(error.reason)). Copy the file together with its -wal to a writable directory, or have its "
                + "owner run PRAGMA journal_mode = DELETE on it")
    }

    /// Returns whether the format version in the file's header is 2, which means WAL mode.
    private static func isInWriteAheadMode(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path), let header = try? file.read(upToCount: 20) else {
            return false
        }
        return header.starts(with: "SQLite format 3\0".utf8) && header.count == 20 && header.last == 2
    }
}
