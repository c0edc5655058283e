import Foundation
import GRDB

/// What the proxy remembers between requests and over restarts: one SQLite file, readable by its owner alone.
///
/// What ``write(_:)`` returns from is on disk. Writes of many tasks share one commit: each waits for the disk, and none
/// waits for the others' turn. Readers never wait for writers.
package final class BridgeStore: Sendable {
    /// The file.
    package let path: String
    private let pool: DatabasePool
    private let queue: WriteQueue
    let headers = SignedHeaders()

    /// Seconds to wait for another process.
    private static let patience: TimeInterval = 5

    /// Opens the store, or makes a new one.
    ///
    /// - Parameter maximumPages: of 4,096 bytes each, after which it is full; nil where the disk is the limit.
    /// - Throws: ``LedgerError``; `notADatabase` for a file that is something else, `changed` for one of a newer version.
    package init(path: String, maximumPages: Int? = nil) throws(LedgerError) {
        self.path = path
        // SQLite would make it readable by others.
        if !FileManager.default.fileExists(atPath: path) {
            guard
                FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw LedgerError(.notPermitted, at: path, "the file cannot be made") }
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.patience)
        configuration.prepareDatabase { db in
            // A checkpoint waits for the disk twice more and writes everything again: worth one of 32 MiB. Signed texts
            // are long; 16 MiB hold some thousand pages of the indices. What is deleted is overwritten with zeros, as
            // Debian's SQLite does by itself.
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 8192;
                    PRAGMA cache_size = -16384; PRAGMA secure_delete = ON
                    """)
            if let maximumPages { try db.execute(sql: "PRAGMA max_page_count = \(maximumPages)") }
        }
        let pool = try asLedgerError(at: path) {
            let pool = try DatabasePool(path: path, configuration: configuration)
            let layout = Self.layout
            guard try !pool.read(layout.hasBeenSuperseded) else {
                throw LedgerError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
            }
            try layout.migrate(pool)
            return pool
        }
        self.pool = pool
        queue = WriteQueue(pool: pool, path: path)
    }

    /// All tables, a step for each version that added some. Steps are never changed, only added to.
    static var layout: DatabaseMigrator {
        var layout = DatabaseMigrator()
        layout.registerMigration("comparisons", migrate: addComparisons)
        layout.registerMigration("customers", migrate: addCustomers)
        layout.registerMigration("extensions", migrate: addExtensions)
        layout.registerMigration("refunds", migrate: addRefunds)
        layout.registerMigration("forwarding", migrate: addForwarding)
        layout.registerMigration("erasure", migrate: addErasure)
        layout.registerMigration("signedTexts", migrate: addSignedTexts)
        return layout
    }

    /// Changes what is kept; everything that `body` did is on disk when this returns, or nothing of it is.
    ///
    /// - Parameter body: runs inside a transaction that it shares with others, and is undone alone where it throws.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(LedgerError) -> Result {
        try await queue.run(body)
    }

    /// What is kept, as of one moment.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(LedgerError) -> Result {
        do { return try await pool.read(body) } catch { throw LedgerError(error, at: path) }
    }

    /// The same on the caller's own thread, which must be one that may wait.
    func readWaiting<Result>(_ body: (Database) throws -> Result) throws(LedgerError) -> Result {
        try asLedgerError(at: path) { try pool.read(body) }
    }

    /// Writes the whole file anew, so that nothing is left in it of what was deleted, and empties the log beside it. Takes
    /// as much room again for the time; other processes cannot write meanwhile.
    package func rewrite() async throws(LedgerError) {
        do {
            try await pool.vacuum()
            try await emptyLog()
        } catch {
            throw LedgerError(error, at: path)
        }
    }

    /// Others may read from it at the moment.
    private func emptyLog() async throws {
        var attempts = 0
        while true {
            do {
                _ = try await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
                return
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempts < 5 {
                attempts += 1
            }
        }
    }

    /// Waits for what is being written and closes the file; later calls fail.
    package func close() async {
        await queue.finish()
        try? pool.close()
    }
}
