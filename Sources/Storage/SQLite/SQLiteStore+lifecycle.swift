import ReceiptBridgeBase
import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Opening a store with retries. For example, the disk may be full, the directory missing, or the file locked at the
/// start.
extension SQLiteStore {
    /// Delays between two attempts. The last one is repeated.
    private static let pauses: [Duration] = [1, 2, 5, 10, 30].map {
        Duration.seconds($0).atTestSpeed()
    }

    /// Opens the store now or, if that fails, retries in the background after `pauses`, which are not empty. Until it
    /// is open every call throws `notOpen`. `onChange` is called with the first error, with each different error, and
    /// with `nil` once the store is open after an error.
    package convenience init(
        opening path: String, recordsEvents: Bool = true, pauses: [Duration]? = nil,
        _ onChange: @escaping @Sendable (StorageError?) -> Void
    ) {
        self.init(unopened: path, recordsEvents: recordsEvents, onLost: onChange)
        do throws(StorageError) {
            try open()
        } catch {
            onChange(error)
            retryOpening(pauses ?? Self.pauses, after: error, onChange)
        }
    }

    package var isOpen: Bool { state.withLock { $0.open != nil } }

    package var isLost: Bool {
        state.withLock { state in
            switch state {
            case .lost, .closed(_, isLost: true): true
            case .unopened, .open, .closed: false
            }
        }
    }

    package func whenOpen() async -> Bool { await opening.wait() && !isLost }

    /// Opens the file. Blocks for as long as the disk and other processes take.
    func open() throws(StorageError) {
        let opened = try openFile()
        let isOpen = state.withLock { state in
            guard case .unopened = state else { return false }
            state = .open(opened)
            return true
        }
        if isOpen { opening.end(true) } else { _ = closeFile(opened) }
    }

    /// Ends the use of the files until a restart. Data in memory belongs to the old ones and must not get into new
    /// ones.
    func lost(_ opened: OpenedDatabase, _ loss: OpenFiles.Loss) -> StorageError {
        let reason =
            switch loss {
            case .database:
                "the file was removed, replaced or truncated while it was open. Stop receipt-bridge, restore"
                    + " the complete file, and restart"
            case .log:
                "the -wal or -shm of the file was removed, replaced or truncated while it was open. Stop"
                    + " receipt-bridge, run store check, and restart"
            }
        let error = StorageError(.changed, at: path, reason)
        let isChange = state.withLock { state in
            guard state.openOrClosing?.pool === opened.pool else { return false }
            state = state.isClosed ? .closed(opened, isLost: true) : .lost(opened)
            return true
        }
        guard isChange else { return error }
        onLost?(error)
        DispatchQueue.global().async { opened.keepLog() }
        return error
    }

    private func retryOpening(
        _ pauses: [Duration], after failure: StorageError, _ onChange: @escaping @Sendable (StorageError?) -> Void
    ) {
        Task { [weak self] in
            var last = failure
            var attempt = 0
            while true {
                try? await Task.sleep(for: pauses[min(attempt, pauses.count - 1)])
                attempt += 1
                guard let self, !self.state.withLock(\.isClosed) else { return }
                guard let failure = await self.attempt() else { return onChange(nil) }
                if failure != last { onChange(failure) }
                last = failure
            }
        }
    }

    /// Tries to open the store on a thread that may block. Returns the error, or `nil` if it is open.
    private func attempt() async -> StorageError? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                do throws(StorageError) {
                    try self.open()
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
    }
}

extension SQLiteStore {
    /// Waits for pending writes, checkpoints the write-ahead log and closes the file. Later calls throw `notOpen`.
    /// Other processes may have the file open. If one of them reads for longer than the timeout, the log stays. Returns
    /// why the database file alone does not contain all data; `nil` if it does, and for a store that was not open.
    @discardableResult
    package func close() async -> StorageError? {
        await notificationWrites.finish()
        let opened = state.withLock { state -> OpenedDatabase? in
            switch state {
            case .closed: return nil
            case .unopened:
                state = .closed(nil, isLost: false)
                return nil
            case .open(let opened):
                state = .closed(opened, isLost: false)
                return opened
            case .lost(let opened):
                state = .closed(opened, isLost: true)
                return opened
            }
        }
        opening.end(false)
        guard let opened else { return nil }
        await opened.queue.finish()
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: self.closeFile(opened)) }
        }
    }

    /// Closes the file. Blocks for as long as the disk and other processes take.
    func closeFile(_ opened: OpenedDatabase) -> StorageError? {
        // Only the last connection removes the log when it closes, and a read-only one cannot. GRDB closes its
        // readers after the writer, so close them first.
        opened.pool.releaseMemory()
        do throws(StorageError) {
            // If the file was replaced, nothing of the old one may be written to the new one.
            if let loss = opened.files.missing { throw lost(opened, loss) }
            try asStorageError(at: path) {
                try opened.pool.writeWithoutTransaction { db in
                    if let loss = opened.files.truncated(db) { throw self.lost(opened, loss) }
                    try db.checkpoint(.truncate)
                }
            }
            try asStorageError(at: path) { try opened.pool.close() }
            return nil
        } catch {
            if isLost { opened.keepLog() }
            try? opened.pool.close()
            return error
        }
    }
}

extension SQLiteStore.OpenedDatabase {
    /// Copies what the log has into the database. SQLite still has a log open that was removed. When the last
    /// connection closes, SQLite does not remove the log at the path, which can be another one.
    fileprivate func keepLog() {
        try? pool.writeWithoutTransaction { db in
            // `nil` if it was closed meanwhile.
            guard let connection = db.sqliteConnection else { return }
            var isKept: CInt = 1
            sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
            files.discardIndexOfTruncatedLog(db)
            if files.isLogCurrent { _ = try db.checkpoint(.full) }
        }
    }
}
