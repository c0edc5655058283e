import Dispatch
import GRDB
import Synchronization

/// Closing a store, so that the database file alone contains all data.
extension Store {
    /// Waits for pending writes, checkpoints the write-ahead log and closes the file. Later calls throw.
    ///
    /// Other processes may have the file open. If one of them reads for longer than the timeout, the log stays.
    ///
    /// - Returns: why the database file alone does not contain all data; `nil` if it does, and for a store that was
    ///   not open.
    @discardableResult
    package func close() async -> StorageError? {
        let opened = state.withLock { state -> OpenedDatabase? in
            guard !state.isClosed else { return nil }
            state.isClosed = true
            return state.opened ?? state.lost
        }
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
            guard opened.identity == FileIdentity(path: path) else { throw lost(opened) }
            try asLedgerError(at: path) {
                _ = try opened.pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
            }
            try asLedgerError(at: path) { try opened.pool.close() }
            return nil
        } catch {
            try? opened.pool.close()
            return error
        }
    }
}
