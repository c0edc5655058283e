import Foundation
import GRDB

/// What a migration keeps beside its destination, so that it can be stopped at any moment and go on: where it stands,
/// what was refused, and with the Server API, the rows and customers on their way.
///
/// The process that opens it is the only one until it ends, however it ends. What is written between two calls of
/// ``commit()`` is there as a whole after a crash, or not at all.
package final class MigrationStore {
    let path: String
    let queue: DatabaseQueue
    private var isInTransaction = false

    /// The layout below, as `user_version`; 0 in a new file, and in those that were made before it was counted.
    private static let version: Int64 = 3

    /// Opens the ledger, or makes a new one that only this user can read. One that is there is read as a whole first: what
    /// is damaged is refused, and nothing was written then.
    ///
    /// - Throws: `locked` where another process has it, `notADatabase` for a file that is damaged or something else,
    ///   `changed` for one of another version.
    package init(path: String) throws(StorageError) {
        self.path = path
        if !FileManager.default.fileExists(atPath: path) {
            guard
                FileManager.default.createFile(
                    atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw StorageError(.notPermitted, at: path, "the file cannot be made") }
        }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        do throws(StorageError) {
            queue = try asLedgerError(at: path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                try queue.inDatabase { db in
                    try db.requireDurableCommits(at: path)
                    do { try Self.open(db, at: path) } catch {
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

    /// What a person can do about it.
    private static func explained(_ error: StorageError) -> StorageError {
        switch error.code {
        case .locked: StorageError(.locked, at: error.place, "another process works on this destination")
        case .notADatabase:
            StorageError(
                .notADatabase, at: error.place,
                "\(error.reason). It says how far the work is, and cannot be read; nothing was changed. Put a copy of it "
                    + "back, or move it and what was written with it elsewhere, and the same command begins anew")
        default: error
        }
    }

    private static func open(_ db: Database, at path: String) throws {
        // The lock is SQLite's own: it goes with the process.
        try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        let found = try Int64.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else {
            throw StorageError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
        }
        let isNew = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
        guard isNew || found >= versionBeforeReasons else {
            throw StorageError(
                .changed, at: path,
                "an older version of receipt-bridge wrote this file, or something else did. Move it and what was "
                    + "written with it elsewhere, and the same command begins anew")
        }
        let verdict = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? ""
        guard verdict == "ok" else {
            throw StorageError(.notADatabase, at: path, verdict.replacing("\n", with: " "))
        }
        if isNew || found < version {
            if isNew { try prepare(db) } else { try separateReasons(db) }
            try db.execute(sql: "PRAGMA user_version = \(version)")
        }
        try db.execute(sql: "COMMIT")
    }

    // A connection that is closed inside a transaction calls GRDB's observers after they are gone.
    deinit { try? queue.inDatabase { if $0.isInsideTransaction { try $0.execute(sql: "ROLLBACK") } } }

    private static func prepare(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
                \(refusalTables)
                CREATE TABLE scope (
                    key INTEGER PRIMARY KEY, bundleId TEXT NOT NULL, environment TEXT NOT NULL,
                    UNIQUE (bundleId, environment));
                CREATE TABLE customer (
                    key INTEGER PRIMARY KEY, scope INTEGER NOT NULL, claims TEXT,
                    state INTEGER NOT NULL DEFAULT 0, reason TEXT,
                    accountToken TEXT, tokens INTEGER NOT NULL DEFAULT 0, tokenState TEXT,
                    environment TEXT, appAppleId INTEGER, transactions BLOB, subscriptions BLOB,
                    signedTransactions BLOB, revision TEXT);
                CREATE INDEX customerByState ON customer (state, scope, key);
                CREATE UNIQUE INDEX customerByClaims ON customer (scope, claims) WHERE claims IS NOT NULL;
                CREATE TABLE identifier (
                    scope INTEGER NOT NULL, identifier TEXT NOT NULL, customer INTEGER NOT NULL,
                    PRIMARY KEY (scope, identifier)) WITHOUT ROWID;
                CREATE INDEX identifierByCustomer ON identifier (customer);
                CREATE TABLE staged (
                    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, customer INTEGER, result BLOB NOT NULL);
                CREATE INDEX stagedByCustomer ON staged (customer) WHERE customer IS NOT NULL;
                """)
    }

    /// Everything is forgotten, the lock is kept.
    package func removeAll() throws(StorageError) {
        try write { db in
            for table in ["state", "refusal", "refusalReason", "scope", "customer", "identifier", "staged"] {
                try db.execute(sql: "DELETE FROM \(table)")
            }
        }
        try commit()
    }

    /// What was kept under a name; nil where there is nothing.
    package func state(_ key: String) throws(StorageError) -> [UInt8]? {
        try read { db in
            try Data.fetchOne(db, sql: "SELECT value FROM state WHERE key = ?", arguments: [key]).map { [UInt8]($0) }
        }
    }

    /// The same, of a value that ``save(encoding:as:)`` kept.
    ///
    /// - Throws: `notADatabase` where it is not such a value.
    package func state<Value: Decodable>(_ key: String, as type: Value.Type) throws(StorageError) -> Value? {
        guard let bytes = try state(key) else { return nil }
        do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch {
            throw damaged("the \(key)")
        }
    }

    /// JSON as it was written: a page of zeros in the middle of it would go into the result.
    func written(_ json: [UInt8], _ what: String) throws(StorageError) -> [UInt8] {
        guard !json.contains(0) else { throw damaged(what) }
        return json
    }

    /// Something in it is not what was written: SQLite has checksums of nothing.
    package func damaged(_ what: String) -> StorageError {
        Self.explained(StorageError(.notADatabase, at: path, "\(what) is damaged"))
    }

    /// Keeps a value under a name, as JSON.
    package func save(encoding value: some Encodable, as key: String) throws {
        try save([UInt8](JSONEncoder().encode(value)), as: key)
    }

    /// Keeps a value under a name.
    package func save(_ value: [UInt8], as key: String) throws(StorageError) {
        try write { db in
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO state VALUES (?, ?)").execute(
                arguments: [key, Data(value)])
        }
    }

    /// Everything written until now is on disk when this returns.
    package func commit() throws(StorageError) {
        guard isInTransaction else { return }
        try read { try $0.execute(sql: "COMMIT") }
        isInTransaction = false
    }

    func write<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        if !isInTransaction {
            try read { try $0.execute(sql: "BEGIN IMMEDIATE") }
            isInTransaction = true
        }
        return try read(body)
    }

    func read<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        try asLedgerError(at: path) { try queue.inDatabase(body) }
    }
}
