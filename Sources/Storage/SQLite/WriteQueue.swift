import Dispatch
import GRDB
import Synchronization

/// The writer of a SQLite file, which groups the writes of many tasks into few transactions.
final class WriteQueue: Sendable {
    /// A write, which saves its result. It runs a second time if its transaction is rolled back.
    private typealias Write = @Sendable (Database) throws -> Void

    private struct WriteFailure: Error {}

    private let pool: DatabasePool
    private let path: String
    /// Called at the beginning and at the end of each transaction. If it throws, all writes of the transaction fail.
    private let check: @Sendable (Database) throws -> Void
    /// The outcome of a write is its own error.
    private let commits: GroupCommit<Write, StorageError?>
    private let thread = DispatchQueue(label: "receipt-bridge.store")

    init(pool: DatabasePool, path: String, check: @escaping @Sendable (Database) throws -> Void) {
        (self.pool, self.path, self.check) = (pool, path, check)
        // Beyond some hundreds a commit costs little of each write, and if one fails, all of them run again.
        commits = GroupCommit(place: path, batch: 512, errorsOfWrites: [])
    }

    var waiting: Int { commits.waiting }

    /// Runs a write and waits for its commit. Throws the error of the write or of the commit.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        let stored = Saved<Result>()
        let failure = try await commits.run({ stored.save(try body($0)) }) { (writes) throws(StorageError) in
            try await self.commit(writes)
        }
        if let failure { throw failure }
        guard let result = stored.value else { throw StorageError(.failed, at: path, "not written") }
        return result
    }

    func finish() async { await commits.finish() }

    /// Commits writes on the thread that may block.
    private func commit(_ writes: [Write]) async throws(StorageError) -> [StorageError?] {
        let result = await withCheckedContinuation { continuation in
            thread.async {
                continuation.resume(returning: Result<[StorageError?], any Error> { try self.commitAll(writes) })
            }
        }
        do { return try result.get() } catch { throw StorageError(error, at: path) }
    }

    /// Commits all writes in one transaction. A savepoint for each would copy every page that it changes. So only if
    /// a write fails are all of them run again, each in its own savepoint.
    private func commitAll(_ writes: [Write]) throws -> [StorageError?] {
        do {
            try transaction { db in
                for write in writes {
                    do { try write(db) } catch { throw WriteFailure() }
                }
            }
            return writes.map { _ in nil }
        } catch is WriteFailure {
            var failures: [StorageError?] = []
            do {
                try transaction { db in
                    failures = []
                    for write in writes { failures.append(runAlone(write, in: db)) }
                }
            } catch {
                // If the disk is full, SQLite may roll back the whole transaction. The error of the transaction does
                // not say so.
                if let failure = failures.lazy.compactMap(\.self).first, failure.code == .full { throw failure }
                throw error
            }
            return failures
        }
    }

    private func transaction(_ body: (Database) throws -> Void) throws {
        try pool.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                try check(db)
                try body(db)
                return .commit
            }
            // A log that was removed or truncated meanwhile has the transaction, and is lost with this process.
            try check(db)
        }
    }

    /// Runs one write in a savepoint and rolls back only its changes if it fails. Returns the error.
    private func runAlone(_ write: Write, in db: Database) -> StorageError? {
        do {
            try db.inSavepoint {
                try write(db)
                return .commit
            }
            return nil
        } catch {
            return StorageError(error, at: path)
        }
    }
}

private final class Saved<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }
    func save(_ value: Value) { stored.withLock { $0 = value } }
}
