import Foundation
import GRDB
import Synchronization
import Telemetry

/// What the proxy remembers between requests and over restarts: one SQLite file, readable by its owner alone.
///
/// What ``write(_:)`` returns from is on disk. Writes of many tasks share one commit: each waits for the disk, and none
/// waits for the others' turn. Readers never wait for writers.
package final class Store: Sendable {
    /// The file.
    package let path: String
    private let maximumPages: Int?
    /// Version 1 notifications of one day (UTC), app and environment that are stored; beyond that the oldest are deleted.
    let hintsPerDay: Int
    let state = Mutex(State())
    let headers = JWSHeaderTable()
    /// Since it was opened.
    package let counts = StoreMetrics()
    /// Changes that wait for the disk.
    package var writesWaiting: Int { state.withLock { $0.opened?.queue.waiting ?? 0 } }

    /// The file, open.
    struct OpenedDatabase: Sendable {
        let pool: DatabasePool
        let queue: WriteQueue
        let identity: FileIdentity?
    }

    struct State {
        var opened: OpenedDatabase?
        /// Open, and of no use: the file was taken away.
        var lost: OpenedDatabase?
        var isClosed = false
        /// What waits for it to be open.
        var waiting: [@Sendable () -> Void] = []
        /// Told when the file was taken away.
        var whenLost: (@Sendable (StorageError) -> Void)?
    }

    /// Seconds to wait for another process.
    private static let timeout: TimeInterval = 5

    /// Opens the store, or makes a new one.
    ///
    /// - Parameters:
    ///   - maximumPages: of 4,096 bytes each, after which it is full; nil where the disk is the limit.
    ///   - hintsPerDay: of version 1 notifications, for each app and environment.
    /// - Throws: ``StorageError``; `notADatabase` for a file that is something else, `changed` for one of a newer version.
    package convenience init(
        path: String, maximumPages: Int? = nil, hintsPerDay: Int = 10_000
    ) throws(StorageError) {
        self.init(unopened: path, maximumPages: maximumPages, hintsPerDay: hintsPerDay)
        try open()
    }

    /// A store that nothing can be read from or written to until it is opened.
    init(unopened path: String, maximumPages: Int? = nil, hintsPerDay: Int = 10_000) {
        self.path = path
        self.hintsPerDay = hintsPerDay
        self.maximumPages = maximumPages
    }

    /// The file, made where there is none.
    func openFile() throws(StorageError) -> OpenedDatabase {
        let maximumPages = maximumPages
        StoreFiles.makePrivate(path)
        // SQLite would make it readable by others.
        if !FileManager.default.fileExists(atPath: path) {
            let file = Foundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 || errno == EEXIST else {
                throw StorageError(.notPermitted, at: path, "the file cannot be made")
            }
            if file >= 0 { Foundation.close(file) }
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.timeout)
        configuration.prepareDatabase { db in
            // A checkpoint waits for the disk twice more and writes everything again: worth one of 32 MiB. Signed texts
            // are long; 16 MiB hold some thousand pages of the indices. What is deleted is overwritten with zeros, as
            // Debian's SQLite does by itself.
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 8192; PRAGMA cache_size = -16384;
                    PRAGMA secure_delete = ON
                    """)
            if let maximumPages { try db.execute(sql: "PRAGMA max_page_count = \(maximumPages)") }
        }
        let pool = try asLedgerError(at: path) {
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { try $0.requireDurableCommits(at: path) }
            let layout = Self.layout
            guard try !pool.read(layout.hasBeenSuperseded) else {
                throw StorageError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
            }
            try layout.migrate(pool)
            try Self.checkWriting(to: pool)
            return pool
        }
        return OpenedDatabase(
            pool: pool, queue: WriteQueue(pool: pool, path: path), identity: FileIdentity(path: path))
    }

    /// Of a file that can only be read nothing is noticed until then; one that somebody else writes to now can be written.
    private static func checkWriting(to pool: DatabasePool) throws {
        do {
            try pool.writeWithoutTransaction { db in try db.inTransaction(.immediate) { .commit } }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
    }

    /// - Throws: `notOpen` before it was opened, and after it was closed; `changed` where the file is not the one that has
    ///   its name now: what is written to it would be gone with it.
    private func opened() throws(StorageError) -> OpenedDatabase {
        guard let opened = state.withLock(\.opened) else { throw StorageError(.notOpen, at: path, "not open") }
        guard opened.identity == FileIdentity(path: path) else { throw lost(opened) }
        return opened
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
        layout.registerMigration("lastGood", migrate: addLastGood)
        layout.registerMigration("signedTexts", migrate: addSignedTexts)
        layout.registerMigration("hints", migrate: addHints)
        layout.registerMigration("learntByOriginals", migrate: addLearntByOriginals)
        layout.registerMigration("comparedCustomers", migrate: addComparedCustomers)
        return layout
    }

    /// Changes what is kept; everything that `body` did is on disk when this returns, or nothing of it is.
    ///
    /// - Parameter body: runs inside a transaction that it shares with others, and is undone alone where it throws.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        do throws(StorageError) {
            let result = try await opened().queue.run(body)
            counts.wrote()
            return result
        } catch {
            if !Task.isCancelled { counts.writeFailed(error) }
            throw error
        }
    }

    /// What is kept, as of one moment.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        let pool = try opened().pool
        do {
            let result = try await pool.read(body)
            counts.wasRead()
            return result
        } catch {
            let error = StorageError(error, at: path)
            // A reader that ended meanwhile says nothing about the store.
            if !Task.isCancelled { counts.readFailed(error) }
            throw error
        }
    }

    /// The same on the caller's own thread, which must be one that may wait.
    func readWaiting<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result {
        let pool = try opened().pool
        return try asLedgerError(at: path) { try pool.read(body) }
    }

    /// Writes the whole file anew, so that nothing is left in it of what was deleted, and empties the log beside it. Takes
    /// as much room again for the time; other processes cannot write meanwhile.
    package func compact() async throws(StorageError) {
        let pool = try opened().pool
        do {
            try await pool.vacuum()
            try await Self.emptyLog(of: pool)
        } catch {
            throw StorageError(error, at: path)
        }
    }

    /// Others may read from it at the moment.
    private static func emptyLog(of pool: DatabasePool) async throws {
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
}
