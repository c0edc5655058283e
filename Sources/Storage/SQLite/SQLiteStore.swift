import ReceiptBridgeBase
import Foundation
import GRDB
import Synchronization

/// The store of the proxy in one SQLite file that only its owner can read. Implements every repository.
///
/// A write is on disk when ``write(_:)`` returns. The writes of concurrent tasks share one commit, so that none waits
/// for the commits of the others. Readers never wait for writers.
package final class SQLiteStore: Sendable {
    package let path: String
    private let maximumPages: Int?
    private let allowsUnfinishedCopy: Bool
    package let hintsPerDay: Int
    package let recordsEvents: Bool
    let state = Mutex(State.unopened)
    /// Called if a file was removed, replaced or truncated.
    let onLost: (@Sendable (StorageError) -> Void)?
    let opening = Latch<Bool>()
    package let headers = JWSHeaderTable()
    package let appIDs = RowIDCache<AppScope>()
    package let metrics = StoreMetrics()
    package let notificationWrites: GroupCommit<NotificationWrite, NotificationOutcome>
    package var writesWaiting: Int { notificationWrites.waiting + state.withLock { $0.open?.queue.waiting ?? 0 } }

    struct OpenedDatabase: Sendable {
        let pool: DatabasePool
        let queue: WriteQueue
        let files: OpenFiles
    }

    enum State {
        case unopened
        case open(OpenedDatabase)
        /// A file was removed, replaced or truncated while it was open.
        case lost(OpenedDatabase)
        /// The pending writes are completed, unless the file was lost.
        case closed(OpenedDatabase?, isLost: Bool)

        var open: OpenedDatabase? { if case .open(let database) = self { database } else { nil } }
        var isClosed: Bool { if case .closed = self { true } else { false } }

        var openOrClosing: OpenedDatabase? {
            switch self {
            case .open(let database), .closed(let database?, isLost: false): database
            case .unopened, .lost, .closed: nil
            }
        }
    }

    private let lockTimeout: Double?

    /// Seconds to wait for a lock of another process.
    private static let timeout = 5.0.secondsAtTestSpeed(atLeast: 0.5)

    /// Opens the store, or creates a new one. The store is full after `maximumPages` of 4,096 bytes, and waits
    /// `lockTimeout` seconds for a lock of another process. Throws `notADatabase` for a file that is not a database,
    /// `changed` for one of a newer version, and for one that an unfinished copy is being written to, unless that is
    /// allowed.
    package convenience init(
        path: String, maximumPages: Int? = nil, hintsPerDay: Int = 10_000, recordsEvents: Bool = true,
        allowsUnfinishedCopy: Bool = false, lockTimeout: Double? = nil
    ) throws(StorageError) {
        self.init(
            unopened: path, maximumPages: maximumPages, hintsPerDay: hintsPerDay, recordsEvents: recordsEvents,
            allowsUnfinishedCopy: allowsUnfinishedCopy, lockTimeout: lockTimeout)
        try open()
    }

    /// The store is not open: every read and write throws `notOpen` until ``open()``.
    init(
        unopened path: String, maximumPages: Int? = nil, hintsPerDay: Int = 10_000, recordsEvents: Bool,
        allowsUnfinishedCopy: Bool = false, lockTimeout: Double? = nil,
        onLost: (@Sendable (StorageError) -> Void)? = nil
    ) {
        (self.path, self.onLost) = (path, onLost)
        (self.lockTimeout, self.recordsEvents) = (lockTimeout, recordsEvents)
        (self.allowsUnfinishedCopy, self.hintsPerDay) = (allowsUnfinishedCopy, hintsPerDay)
        self.maximumPages = maximumPages
        notificationWrites = GroupCommit(place: path, batch: 256, errorsOfWrites: [.failed, .damaged, .notADatabase])
    }

    /// Opens the file. Creates it if it does not exist.
    func openFile() throws(StorageError) -> OpenedDatabase {
        let (maximumPages, allowsUnfinishedCopy) = (maximumPages, allowsUnfinishedCopy)
        // One connection writes, and the others read.
        let pageCache = ProcessMemory.Cache.pages.size() / ((1 + Configuration().maximumReaderCount) << 10)
        StoreFiles.makePrivate(path)
        try StoreFiles.createIfMissing(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(lockTimeout ?? Self.timeout)
        configuration.prepareDatabase { db in
            // A checkpoint costs two more waits for the disk and writes all pages again, so it runs only every 32 MiB
            // (8,192 pages). A cache of 16 MiB has room for some thousand index pages, since JWS are long.
            // `secure_delete` overwrites deleted data with zeros, which is also the default of Debian's SQLite.
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 8192; PRAGMA cache_size = -\(pageCache);
                    PRAGMA secure_delete = ON
                    """)
            if let maximumPages { try db.execute(sql: "PRAGMA max_page_count = \(maximumPages)") }
        }
        let (pool, files) = try asStorageError(at: path) {
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { try $0.requireDurableCommits(at: path) }
            try Self.prepareSchema(of: pool, at: path)
            guard try allowsUnfinishedCopy || !pool.read({ try $0.tableExists("storeCopy") }) else {
                throw StorageError.unfinishedCopy(at: path)
            }
            try Self.checkWriting(to: pool)
            if try pool.read({ try Self.hasLeases($0) }) { try pool.write(Self.releaseLeasesOfEndedProcesses) }
            return (pool, try pool.read { OpenFiles(path: path, $0) })
        }
        let queue = WriteQueue(pool: pool, path: path) { [weak self] db in try self?.requireFiles(of: db) }
        return OpenedDatabase(pool: pool, queue: queue, files: files)
    }

    /// Checks that the file can be written. Opening a read-only file succeeds, so the error would otherwise appear
    /// only at the first write. If another process is writing at the moment, the file is writable.
    private static func checkWriting(to pool: DatabasePool) throws {
        do {
            try pool.writeWithoutTransaction { db in try db.inTransaction(.immediate) { .commit } }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
    }

    /// - Throws: as ``openedOrClosing()``, and `notOpen` after the store was closed.
    private func opened() throws(StorageError) -> OpenedDatabase {
        guard !state.withLock(\.isClosed) else { throw notOpen }
        return try openedOrClosing()
    }

    /// As ``opened()``, for the writes that are pending when the store is closed. Throws `notOpen` before the store was
    /// opened, and `changed` if a file is no longer the one that was opened, because writes to it would be lost.
    private func openedOrClosing() throws(StorageError) -> OpenedDatabase {
        guard let opened = state.withLock(\.openOrClosing) else { throw notOpen }
        if let loss = opened.files.missing { throw lost(opened, loss) }
        return opened
    }

    /// Checks the files at the beginning and at the end of a write transaction.
    private func requireFiles(of db: Database) throws(StorageError) {
        let opened = try openedOrClosing()
        if let loss = opened.files.truncated(db) { throw lost(opened, loss) }
    }

    private var notOpen: StorageError { StorageError(.notOpen, at: path, "the store is not open") }

    /// Runs a change, in a transaction that it may share with other writes. When this returns, all of it is on disk; if
    /// it throws, nothing of it is, and only its own changes are rolled back.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        do throws(StorageError) {
            let result = try await queued(body)
            metrics.writeSucceeded()
            return result
        } catch {
            if !Task.isCancelled { metrics.writeFailed(error) }
            throw error
        }
    }

    /// Runs a change like ``write(_:)``, but not counted in ``metrics``.
    func queued<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        guard let opened = state.withLock(\.open) else { throw notOpen }
        return try await opened.queue.run(body)
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        let pool = try opened().pool
        do {
            let result = try await pool.read(body)
            metrics.readSucceeded()
            return result
        } catch {
            let error = StorageError(error, at: path)
            // A canceled reader does not indicate a failure of the store.
            if !Task.isCancelled { metrics.readFailed(error) }
            throw error
        }
    }

    /// Runs `VACUUM`, and empties the write-ahead log.
    package func compact() async throws(StorageError) {
        let pool = try opened().pool
        do {
            try await pool.vacuum()
            try await truncateLog(of: pool)
        } catch {
            throw StorageError(error, at: path)
        }
    }

    /// Truncates the write-ahead log. Retries five times if another process is reading from it.
    private func truncateLog(of pool: DatabasePool) async throws {
        var attempts = 0
        while true {
            do {
                return try await pool.writeWithoutTransaction { db in
                    try self.requireFiles(of: db)
                    try db.checkpoint(.truncate)
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempts < 5 {
                attempts += 1
            }
        }
    }
}

extension SQLiteStore: Store {
    package var place: String { path }
    package var cluster: (any ClusterStore)? { nil }
}
