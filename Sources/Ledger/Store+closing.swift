import Dispatch
import GRDB
import Synchronization

/// The end of a store: the one file holds everything.
extension Store {
    /// Waits for pending writes, moves the write-ahead log into the file and closes it; later calls fail.
    ///
    /// Other processes may have the file open. If one of them reads for longer than this one waits, its log stays.
    ///
    /// - Returns: why the file alone does not hold everything; `nil` if it does, and for a store that was not open.
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

    /// Blocks for as long as the disk and other processes take.
    func closeFile(_ opened: OpenedDatabase) -> StorageError? {
        // Only the last connection removes the log when it closes, and a read-only one cannot. GRDB closes its readers
        // after the writer, so close them first.
        opened.pool.releaseMemory()
        do throws(StorageError) {
            // A file that was replaced gets nothing of the old one.
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
