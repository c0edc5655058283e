import ReceiptBridgeBase
import Foundation
import GRDB
import GRDBSQLite
import ReceiptBridgeStorage

/// A SQLite database with one table `results`: text, numbers, Boolean values as 0 and 1, arrays as JSON text. With the
/// App Store Server API, it also has a view for each ``FlatTable``. Rowids count from 1 in the order of writing.
///
/// The index of the ids is created last, in ``close()``, because an index that grows with the rows takes three times as
/// long as the rows do. Rows become durable with ``checkpoint()``, all or none of them. After an error every later call
/// throws the same error.
final class TableSink: ResultSink {
    /// Name of the unique index over the ids. It exists only in a completed table.
    private static let index = "results_id"
    /// Seconds to wait for a lock of another process.
    private static let timeout = 5.0.secondsAtTestSpeed(atLeast: 0.5)
    private static let noTexts = Array("[]".utf8)

    private let path: String
    private let columns: [ResultColumn]
    private var queue: DatabaseQueue?
    private var insertion: Statement?
    /// The ids of the rows; `nil` before the first insertion, because reading the existing ones again takes long.
    private var ids: FingerprintSet?
    /// Number of rows, including those that are not committed yet.
    private var rows: Int64
    private var isInTransaction = false
    private var failure: SinkError?

    /// The text of all columns of one row, which SQLite reads from here. Separate strings would cost a further copy for
    /// each column.
    private var text: [UInt8] = []
    /// Columns with text, from 1, and the offset at which each text ends in ``text``.
    private var ends: [(column: CInt, end: Int)] = []

    /// Opens the database. Nothing is written to it before the first row, except that surplus rows are deleted.
    ///
    /// - Parameter position: Position to resume from; `nil` for a new file.
    init(path: String, _ columns: [ResultColumn], at position: SinkPosition?) throws(SinkError) {
        self.path = path
        self.columns = columns
        rows = position?.rows ?? 0
        if position ?? .start == .start {
            // Create the file first, because SQLite would make it readable for all users. Existing rows are deleted
            // with SQL, not by truncating the file.
            try Files.makePrivate(at: path, mustBeEmpty: position == nil)
        } else if !Files.exists(path) {
            // SQLite would create a new file.
            throw SinkError(.changed, at: path, "the file no longer exists")
        }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(Self.timeout)
        queue = try Self.converted(path) { try DatabaseQueue(path: path, configuration: configuration) }
        try onDatabase { try truncate($0) }
    }

    /// Checks that there are at least as many rows as were written, without changing the database. Throws `changed`
    /// if there are fewer.
    static func check(path: String, holds rows: Int64) throws(SinkError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(timeout)
        try converted(path) {
            let last = try DatabaseQueue(path: path, configuration: configuration).read { db in
                try db.tableExists("results") ? db.integer("SELECT max(rowid) FROM results") : nil
            }
            try check(path, has: last ?? 0, of: rows)
        }
    }

    /// Throws `changed` if the table has fewer rows than were written.
    private static func check(_ path: String, has found: Int64, of rows: Int64) throws(StorageError) {
        guard found >= rows else {
            throw StorageError(.changed, at: path, "the table results has \(found) rows, but \(rows) were written")
        }
    }

    /// The statement must be released before the connection. Otherwise SQLite keeps the connection open and would
    /// call GRDB's hooks after they are gone.
    deinit {
        insertion = nil
        try? queue?.close()
    }

    func write(_ row: ResultRow) throws(SinkError) -> WriteResult {
        let ids = try loadedIDs()
        guard try asSinkError({ () throws(StorageError) in try ids.insert(row.id) }) else { return .repeatedId }
        try onDatabase { try insert(row, with: begin($0).sqliteStatement) }
        rows += 1
        return .written
    }

    /// Returns the ids. The first call reads those of the existing rows.
    private func loadedIDs() throws(SinkError) -> FingerprintSet {
        if let ids { return ids }
        let existing = FingerprintSet()
        if rows > 0 {
            try onDatabase { db in
                try db.forEachRow("SELECT \(SQLName(ResultColumn.id.rawValue)) FROM results") { row in
                    _ = try existing.insert(row.utf8(0) ?? UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
        }
        ids = existing
        return existing
    }

    /// Runs the statement that inserts a row.
    private func insert(_ row: ResultRow, with statement: SQLiteStatement) throws {
        text.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        for (index, column) in zip(CInt(1)..., columns) {
            switch column.value(of: row) {
            case .null:
                sqlite3_bind_null(statement, index)
                continue
            case .number(let number):
                sqlite3_bind_int64(statement, index, number)
                continue
            case .flag(let flag):
                sqlite3_bind_int64(statement, index, flag ? 1 : 0)
                continue
            case .text(var string): string.withUTF8 { text.append(contentsOf: $0) }
            case .texts(let texts): text.append(contentsOf: texts.isEmpty ? Self.noTexts : JSONWriter.array(texts))
            case .json(let bytes): text.append(contentsOf: bytes)
            }
            ends.append((index, text.count))
        }
        try text.withUnsafeBytes { buffer in
            var start = 0
            for (index, end) in ends {
                statement.bind(text: UnsafeRawBufferPointer(rebasing: buffer[start..<end]), at: index)
                start = end
            }
            _ = try statement.run()
        }
    }

    func checkpoint() throws(SinkError) -> SinkPosition {
        if isInTransaction {
            try onDatabase { try $0.execute(sql: "COMMIT") }
            isInTransaction = false
        }
        return SinkPosition(rows: rows, bytes: 0)
    }

    /// Creates the index and the views, commits, and leaves a single file without `-wal` and `-shm`. A second call does
    /// nothing.
    func close() throws(SinkError) {
        guard queue != nil else { return }
        try onDatabase { db in
            guard try insertion != nil || !isFinished(db) else { return }
            _ = try begin(db)
            let column = SQLName(ResultColumn.id.rawValue)
            try db.execute(sql: "CREATE UNIQUE INDEX IF NOT EXISTS \(Self.index) ON results (\(column))")
            for table in FlatTable.allCases where columns.contains(where: { $0.rawValue == table.rawValue }) {
                try db.execute(sql: table.sqliteView)
            }
        }
        _ = try checkpoint()
        insertion = nil
        try onDatabase { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
        try Self.converted(path) { try queue?.close() }
        queue = nil
    }

    /// Returns whether ``close()`` has already created the index.
    private func isFinished(_ db: Database) throws -> Bool {
        try db.exists("SELECT 1 FROM sqlite_master WHERE name = ?", [Self.index])
    }

    /// Runs the body. Saves the first error and throws it again on every later call.
    private func onDatabase<Result>(_ body: (Database) throws -> Result) throws(SinkError) -> Result {
        if let failure { throw failure }
        guard let queue else { throw SinkError(.failed, at: path, "the database is closed") }
        do throws(SinkError) { return try Self.converted(path) { try queue.inDatabase(body) } } catch {
            failure = error
            throw error
        }
    }

    /// Calls the body and converts its errors.
    private static func converted<Result>(_ path: String, _ body: () throws -> Result) throws(SinkError) -> Result {
        try asSinkError { () throws(StorageError) in try asStorageError(at: path, body) }
    }

    /// Returns the statement that inserts a row, inside a transaction. The first call creates the table.
    private func begin(_ db: Database) throws -> Statement {
        if let insertion, isInTransaction { return insertion }
        if insertion == nil {
            // In WAL mode readers and this writer do not wait for each other. A checkpoint costs two more waits for
            // the disk, so it runs only every 64 MiB (16,384 pages of 4,096 bytes).
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 16384; PRAGMA cache_size = -32768
                    """)
            try db.requireDurableCommits(at: path)
        }
        try db.execute(sql: "BEGIN IMMEDIATE")
        isInTransaction = true
        if let insertion { return insertion }
        let definitions = columns.map { column in
            "\(SQLName(column.rawValue)) \(column.isNumber ? "INTEGER" : "TEXT")\(column == .id ? " NOT NULL" : "")"
        }
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS results (\(definitions.joined(separator: ", ")));
                DROP INDEX IF EXISTS \(Self.index)
                """)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let statement = try db.makeStatement(sql: "INSERT INTO results VALUES (\(marks))")
        insertion = statement
        return statement
    }

    /// Deletes the rows after the wanted ones. Throws `changed` if the database has fewer rows or other columns.
    private func truncate(_ db: Database) throws {
        // Returns the disk space of what an earlier process wrote to the log and did not commit.
        try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        let names = try db.texts("SELECT name FROM pragma_table_info('results') ORDER BY cid")
        guard !names.isEmpty else {
            let others = try db.integer("SELECT count(*) FROM sqlite_master") ?? 0
            guard rows == 0, others == 0 else {
                throw StorageError(.changed, at: path, "there is no table results with \(rows) rows")
            }
            return
        }
        guard names == columns.map(\.rawValue) else {
            throw StorageError(
                .changed, at: path, "the table results has different columns: \(names.joined(separator: ", "))")
        }
        let last = try db.integer("SELECT max(rowid) FROM results") ?? 0
        try Self.check(path, has: last, of: rows)
        if last > rows { try db.execute(sql: "DELETE FROM results WHERE rowid > ?", arguments: [rows]) }
    }
}

extension ResultColumn {
    /// `true` if the column has the SQLite type INTEGER.
    fileprivate var isNumber: Bool { self == .verified || self == .appAppleId || self == .row }
}
