import Base
import Foundation
import GRDB
package import Storage

/// The SQLite database of a migration's results: one table `results` with a row for each result. Rowids count from 1
/// in the order of writing.
///
/// The first column is unique text. Its index is created last, in ``close()``, because an index that grows with the
/// rows takes three times as long as the rows do. Writes become durable with ``commit()``, all or none of them. After
/// an error every later call throws the same error, so open the table again.
package final class ResultsTable {
    /// A column of the table: its name and type.
    package struct Column: Sendable, Hashable {
        package enum Kind: String, Sendable, Hashable {
            case text = "TEXT"
            case integer = "INTEGER"
        }

        package let name: String
        package let kind: Kind

        package init(_ name: String, _ kind: Kind) {
            self.name = name
            self.kind = kind
        }
    }

    /// Number of rows, including those that are not committed yet.
    package private(set) var rows: Int64 = 0

    /// Name of the unique index over the first column. It exists only in a completed table.
    private static let index = "results_id"

    private let path: String
    private let columns: [Column]
    /// Statements that create the views of a completed table, unless they exist.
    private let views: [String]
    private var queue: DatabaseQueue?
    private var insertion: Statement?
    /// The texts of the first column; `nil` before the first insertion, because reading the existing ones again takes
    /// long.
    private var ids: FingerprintSet?
    private var isInTransaction = false
    private var failure: StorageError?

    /// Seconds to wait for a lock of another process.
    private static let timeout = 5.0.secondsAtTestSpeed(atLeast: 0.5)

    /// Opens the database. Nothing is written to it before the first row, except that surplus rows are deleted.
    ///
    /// - Parameters:
    ///   - path: a database that ``commit()`` left, or an empty file.
    ///   - rowsToKeep: number of rows to keep. Rows after them are deleted; it is an error if there are fewer.
    ///   - views: statements that create views of the table, unless they exist.
    ///   - lockTimeout: seconds to wait for a lock of another process.
    package init(
        path: String, columns: [Column], keeping rowsToKeep: Int64, views: [String] = [], lockTimeout: Double? = nil
    ) throws(StorageError) {
        self.path = path
        self.columns = columns
        self.views = views
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(lockTimeout ?? Self.timeout)
        let queue = try asStorageError(at: path) { try DatabaseQueue(path: path, configuration: configuration) }
        self.queue = queue
        try asStorageError(at: path) {
            try queue.inDatabase { try truncate(rowsToKeep, in: $0) }
        }
        rows = rowsToKeep
    }

    /// Checks that there are at least as many rows as were written, without changing the database. Throws `changed`
    /// if there are fewer.
    package static func check(path: String, holds rows: Int64) throws(StorageError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(timeout)
        let last = try asStorageError(at: path) {
            try DatabaseQueue(path: path, configuration: configuration).read { db in
                try db.tableExists("results") ? db.integer("SELECT max(rowid) FROM results") : nil
            }
        }
        try check(path, has: last ?? 0, of: rows)
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

    /// - Returns: `false` if another row has the same text in the first column. Nothing is written then.
    package func insert(_ row: borrowing RowBuffer) throws(StorageError) -> Bool {
        let ids = try loadedIDs()
        guard try row.withFirstText({ (id) throws(StorageError) in try ids.insert(id) }) else { return false }
        try onDatabase { db in
            let statement = try begin(db).sqliteStatement
            _ = try row.withBindings(to: statement) { try statement.run() }
        }
        rows += 1
        return true
    }

    /// Returns the texts of the first column. The first call reads those of the existing rows.
    private func loadedIDs() throws(StorageError) -> FingerprintSet {
        if let ids { return ids }
        let existing = FingerprintSet()
        if rows > 0 {
            try onDatabase { db in
                try db.forEachRow("SELECT \(SQLName(columns[0].name)) FROM results") { row in
                    _ = try existing.insert(row.utf8(0) ?? UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
        }
        ids = existing
        return existing
    }

    /// Commits. All previous writes are on disk when this returns.
    package func commit() throws(StorageError) {
        guard isInTransaction else { return }
        try onDatabase { try $0.execute(sql: "COMMIT") }
        isInTransaction = false
    }

    /// Creates the index and the views, commits, and leaves a single file without `-wal` and `-shm`. A second call does
    /// nothing.
    package func close() throws(StorageError) {
        guard queue != nil else { return }
        try onDatabase { db in
            guard try insertion != nil || !isFinished(db) else { return }
            _ = try begin(db)
            let column = SQLName(columns[0].name)
            try db.execute(sql: "CREATE UNIQUE INDEX IF NOT EXISTS \(Self.index) ON results (\(column))")
            for view in views { try db.execute(sql: view) }
        }
        try commit()
        insertion = nil
        try onDatabase { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
        try asStorageError(at: path) { try queue?.close() }
        queue = nil
    }

    /// Returns whether ``close()`` has already created the index.
    private func isFinished(_ db: Database) throws -> Bool {
        try db.exists("SELECT 1 FROM sqlite_master WHERE name = ?", [Self.index])
    }

    /// Runs the body. Saves the first error and throws it again on every later call.
    private func onDatabase<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        if let failure { throw failure }
        guard let queue else { throw StorageError(.failed, at: path, "the database is closed") }
        do {
            return try queue.inDatabase(body)
        } catch {
            let failure = StorageError(error, at: path)
            self.failure = failure
            throw failure
        }
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
        let definitions = columns.enumerated().map { position, column in
            "\(SQLName(column.name)) \(column.kind.rawValue)\(position == 0 ? " NOT NULL" : "")"
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
    private func truncate(_ rowsToKeep: Int64, in db: Database) throws {
        // Returns the disk space of what an earlier process wrote to the log and did not commit.
        try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        let names = try db.texts("SELECT name FROM pragma_table_info('results') ORDER BY cid")
        guard !names.isEmpty else {
            let others = try db.integer("SELECT count(*) FROM sqlite_master") ?? 0
            guard rowsToKeep == 0, others == 0 else {
                throw StorageError(.changed, at: path, "there is no table results with \(rowsToKeep) rows")
            }
            return
        }
        guard names == columns.map(\.name) else {
            throw StorageError(
                .changed, at: path, "the table results has different columns: \(names.joined(separator: ", "))")
        }
        let last = try db.integer("SELECT max(rowid) FROM results") ?? 0
        try Self.check(path, has: last, of: rowsToKeep)
        if last > rowsToKeep { try db.execute(sql: "DELETE FROM results WHERE rowid > ?", arguments: [rowsToKeep]) }
    }
}
