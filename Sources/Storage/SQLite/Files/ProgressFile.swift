import Foundation
package import GRDB

/// The progress file of a long-running command, next to its output, so that the command can be stopped at any moment
/// and resumed: `compare`, `refunds sweep` or `notifications history`. Contains their checkpoint, as values by key.
///
/// The process that opens the file has an exclusive lock until it exits, however it exits. After a crash, the writes
/// between two calls of ``commit()`` are either all there or all missing.
package final class ProgressFile {
    package let path: String
    private let queue: DatabaseQueue
    private var isInTransaction = false

    /// The schema version below, as `user_version`; 0 in a new file, and in files from before versions were numbered.
    private static let version: Int64 = 5
    private static let oldestVersion: Int64 = 2

    /// Opens the file, or creates one that only this user can read. An existing file is checked completely first; if it
    /// is damaged, it is refused and stays unchanged. Throws `locked` if another process has it open, `notADatabase`
    /// for a file that is damaged or no database, `changed` for one of another version.
    package init(path: String) throws(StorageError) {
        self.path = path
        try StoreFiles.createIfMissing(path)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        do throws(StorageError) {
            queue = try asStorageError(at: path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                try queue.inDatabase { db in
                    try db.requireDurableCommits(at: path)
                    do { return try Self.open(db, at: path) } catch {
                        if db.isInsideTransaction { try? db.execute(sql: "ROLLBACK") }
                        throw error
                    }
                }
                return queue
            }
        } catch {
            throw Self.explained(error)
        }
    }

    /// Adds to the reason what the user can do.
    package static func explained(_ error: StorageError) -> StorageError {
        switch error.code {
        case .locked: StorageError(.locked, at: error.place, "another process is using this destination")
        case .notADatabase:
            StorageError(
                .notADatabase, at: error.place,
                "\(error.reason). The progress file cannot be read; nothing was changed. Restore a copy of it, and the "
                    + "same command resumes; or move it and the output away, and the same command starts over")
        default: error
        }
    }

    private static func open(_ db: Database, at path: String) throws {
        // The lock is SQLite's own, so it is released when the process exits.
        try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        let found = try db.integer("PRAGMA user_version") ?? 0
        guard found <= version else {
            throw StorageError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
        }
        let isNew = try db.integer("SELECT count(*) FROM sqlite_master") == 0
        guard isNew || found >= oldestVersion else {
            throw StorageError(
                .changed, at: path,
                "an older version of receipt-bridge or another program wrote this file. Move it and the output "
                    + "away, and the same command starts over")
        }
        let checkResult = try db.text("PRAGMA quick_check(1)") ?? ""
        guard checkResult == "ok" else {
            throw StorageError(.notADatabase, at: path, checkResult.replacing("\n", with: " "))
        }
        if isNew {
            try db.execute(
                sql: """
                    CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
                    PRAGMA user_version = \(version)
                    """)
        }
        try db.execute(sql: "COMMIT")
    }

    // Rolls back first: a connection that is closed inside a transaction calls GRDB's observers after they are gone.
    deinit { try? queue.inDatabase { if $0.isInsideTransaction { try $0.execute(sql: "ROLLBACK") } } }

    /// Deletes all data and keeps the lock.
    package func removeAll() throws(StorageError) {
        try write { try $0.execute(sql: "DELETE FROM state") }
        try commit()
    }

    package func state(_ key: String) throws(StorageError) -> [UInt8]? {
        try read { db in try db.row("SELECT value FROM state WHERE key = ?", [key])?.bytes(0) }
    }

    /// Decodes the value that ``save(encoding:as:)`` stored. Throws `notADatabase` if it cannot be decoded.
    package func state<Value: Decodable>(_ key: String, as type: Value.Type) throws(StorageError) -> Value? {
        guard let bytes = try state(key) else { return nil }
        do { return try StoredJSON.decode(type, from: bytes) } catch { throw damaged("the \(key)") }
    }

    /// Returns the number whose digits are stored under a key; `nil` if none or an empty text is. Throws `notADatabase`
    /// for a number out of the range.
    package func number(_ key: String, in range: ClosedRange<Int64>) throws(StorageError) -> Int64? {
        guard let digits = try state(key), !digits.isEmpty else { return nil }
        guard let number = Int64(String(decoding: digits, as: UTF8.self)), range.contains(number) else {
            throw damaged("the \(key)")
        }
        return number
    }

    /// The error for a value that differs from what was written. SQLite has no checksums, so damage shows up only
    /// when a value is used.
    private func damaged(_ subject: String) -> StorageError {
        Self.explained(StorageError(.notADatabase, at: path, "\(subject) is damaged"))
    }

    /// Stores a value under a key, as JSON.
    package func save(encoding value: some Encodable, as key: String) throws {
        try save([UInt8](JSONEncoder().encode(value)), as: key)
    }

    package func save(_ value: [UInt8], as key: String) throws(StorageError) {
        try write { db in
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO state VALUES (?, ?)").execute(
                arguments: [key, Data(value)])
        }
    }

    /// Returns the numbers of a set. A number is added and removed alone, so that a large set is not written again.
    ///
    /// - Throws: `notADatabase` for a number below 0 or out of the range.
    package func numbers(in set: String) throws(StorageError) -> Set<Int64> {
        let keys = try read { db in
            try db.texts(
                "SELECT key FROM state WHERE key > ?1 || char(10) || '#' AND key < ?1 || char(10) || '$'", [set])
        }
        let numbers = keys.compactMap { Int64($0.dropFirst(set.count + 2)) }.filter {
            (0...StoredNumber.integers.upperBound).contains($0)
        }
        guard numbers.count == keys.count else { throw damaged("the \(set)") }
        return Set(numbers)
    }

    package func insert(_ number: Int64, into set: String) throws(StorageError) {
        try save([], as: "\(set)\n#\(number)")
    }

    /// - Parameter number: `nil` for all numbers.
    package func remove(_ number: Int64?, from set: String) throws(StorageError) {
        try write { db in
            try db.execute(
                sql: """
                    DELETE FROM state WHERE key > ?1 || char(10) || '#' AND key < ?1 || char(10) || '$'
                        AND key = coalesce(?2, key)
                    """,
                arguments: [set, number.map { "\(set)\n#\($0)" }])
        }
    }

    /// Commits. All previous writes are on disk when this returns.
    package func commit() throws(StorageError) {
        guard isInTransaction else { return }
        try read { try $0.execute(sql: "COMMIT") }
        isInTransaction = false
    }

    /// Writes in the open transaction. Opens a transaction first if none is open.
    package func write<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        if !isInTransaction {
            try read { try $0.execute(sql: "BEGIN IMMEDIATE") }
            isInTransaction = true
        }
        return try read(body)
    }

    /// Runs a query, inside the open transaction if there is one.
    package func read<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        do throws(StorageError) {
            return try asStorageError(at: path) { try queue.inDatabase(body) }
        } catch {
            throw error.code == .damaged ? Self.explained(StorageError(.notADatabase, at: path, error.reason)) : error
        }
    }
}
