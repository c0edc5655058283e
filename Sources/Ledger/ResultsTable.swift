import Foundation
import GRDB

/// The database that results go to: one table `results`, a row a result, rowids counting from 1 in the order of writing.
///
/// The first column is text and never twice the same; an index over it comes last, in ``close()``, because one that grows
/// along with the rows takes three times as long as they do. What is written becomes durable with ``commit()``, all of it or
/// nothing. A call that failed has failed for good: open the table anew.
package final class ResultsTable {
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

    /// How many rows there are, those included that are not committed yet.
    package private(set) var rows: Int64 = 0

    private static let index = "results_id"

    private let path: String
    private let columns: [Column]
    private var queue: DatabaseQueue?
    private var insertion: Statement?
    /// The first column's texts; nil before the first row, they are many to read again.
    private var ids: FingerprintSet?
    private var isInTransaction = false
    private var failure: StorageError?

    /// Seconds to wait for somebody who reads or writes.
    private static let timeout: TimeInterval = 5

    /// Opens the database; nothing is written to it before the first row.
    ///
    /// - Parameters:
    ///   - path: of a database that ``commit()`` left, or of an empty file.
    ///   - rowsToKeep: those behind are deleted; it is an error if there are not as many.
    package init(path: String, columns: [Column], keeping rowsToKeep: Int64) throws(StorageError) {
        self.path = path
        self.columns = columns
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(Self.timeout)
        let queue = try asLedgerError(at: path) { try DatabaseQueue(path: path, configuration: configuration) }
        self.queue = queue
        try asLedgerError(at: path) {
            try queue.inDatabase { try truncate(rowsToKeep, in: $0) }
        }
        rows = rowsToKeep
    }

    /// Looks whether there are as many rows as were written; changes nothing.
    package static func check(path: String, holds rows: Int64) throws(StorageError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(timeout)
        let last = try asLedgerError(at: path) {
            try DatabaseQueue(path: path, configuration: configuration).read { db in
                try db.tableExists("results") ? Int64.fetchOne(db, sql: "SELECT max(rowid) FROM results") : nil
            }
        }
        try check(path, has: last ?? 0, of: rows)
    }

    private static func check(_ path: String, has found: Int64, of rows: Int64) throws(StorageError) {
        guard found >= rows else {
            throw StorageError(.changed, at: path, "the table results has \(found) rows where \(rows) were written")
        }
    }

    /// A statement that outlives its connection keeps SQLite's half of it open, and GRDB's hooks are gone by then.
    deinit {
        insertion = nil
        try? queue?.close()
    }

    /// - Returns: false where the first column's text is taken; nothing is written then.
    package func insert(_ row: borrowing RowBuffer) throws(StorageError) -> Bool {
        let ids = try knownIds()
        guard try row.withFirstText({ (id) throws(StorageError) in try ids.insert(id) }) else { return false }
        try onDatabase { db in
            let statement = try begin(db).sqliteStatement
            _ = try row.withBindings(to: statement) { try statement.run() }
        }
        rows += 1
        return true
    }

    private func knownIds() throws(StorageError) -> FingerprintSet {
        if let ids { return ids }
        let known = FingerprintSet()
        if rows > 0 {
            try onDatabase { db in
                let statement = try db.makeStatement(sql: "SELECT \(SQLName(columns[0].name)) FROM results")
                let steps = try Row.fetchCursor(statement)
                while try steps.next() != nil {
                    _ = try known.insert(
                        statement.sqliteStatement.utf8(at: 0) ?? UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
        }
        ids = known
        return known
    }

    /// Everything written until now is on disk when this returns.
    package func commit() throws(StorageError) {
        guard isInTransaction else { return }
        try onDatabase { try $0.execute(sql: "COMMIT") }
        isInTransaction = false
    }

    /// Commits, and leaves one plain file without companions. A second call does nothing.
    package func close() throws(StorageError) {
        guard queue != nil else { return }
        try onDatabase { db in
            guard try insertion != nil || !isFinished(db) else { return }
            _ = try begin(db)
            let column = SQLName(columns[0].name)
            try db.execute(sql: "CREATE UNIQUE INDEX IF NOT EXISTS \(Self.index) ON results (\(column))")
        }
        try commit()
        insertion = nil
        try onDatabase { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
        try asLedgerError(at: path) { try queue?.close() }
        queue = nil
    }

    /// Whether ``close()`` was here before.
    private func isFinished(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master WHERE name = ?", arguments: [Self.index]) == 1
    }

    private func onDatabase<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        if let failure { throw failure }
        guard let queue else { throw StorageError(.failed, at: path, "the database was closed") }
        do {
            return try queue.inDatabase(body)
        } catch {
            let failure = StorageError(error, at: path)
            self.failure = failure
            throw failure
        }
    }

    /// The statement that writes a row, inside a transaction; the first one makes the table.
    private func begin(_ db: Database) throws -> Statement {
        if let insertion, isInTransaction { return insertion }
        if insertion == nil {
            // Readers do not wait for us, and we do not wait for them. A checkpoint of the log costs two more waits
            // for the disk: it is worth one of 64 MiB.
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 16384; PRAGMA cache_size = -32768
                    """)
            try db.requireDurableCommits(at: path)
        }
        try db.execute(sql: "BEGIN IMMEDIATE")
        isInTransaction = true
        if let insertion { return insertion }
        let definitions = columns.enumerated().map { place, column in
            "\(SQLName(column.name)) \(column.kind.rawValue)\(place == 0 ? " NOT NULL" : "")"
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

    /// Deletes what lies beyond; refuses what is not ours.
    private func truncate(_ wanted: Int64, in db: Database) throws {
        // What a dead run wrote and did not commit gives its room back to the disk.
        try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        let names = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info('results') ORDER BY cid")
        guard !names.isEmpty else {
            let others = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
            guard wanted == 0, others == 0 else {
                throw StorageError(.changed, at: path, "there is no table results with \(wanted) rows")
            }
            return
        }
        guard names == columns.map(\.name) else {
            throw StorageError(
                .changed, at: path, "the table results has other columns: \(names.joined(separator: ", "))")
        }
        let last = try Int64.fetchOne(db, sql: "SELECT max(rowid) FROM results") ?? 0
        try Self.check(path, has: last, of: wanted)
        if last > wanted { try db.execute(sql: "DELETE FROM results WHERE rowid > ?", arguments: [wanted]) }
    }
}
