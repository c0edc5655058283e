import Dispatch
import GRDB
import Synchronization

/// A queue that groups the writes of many tasks into few transactions: writes that arrive during a commit go into the
/// next one (group commit).
final class WriteQueue: Sendable {
    /// One write.
    private struct Job: Sendable {
        /// Runs inside a transaction and saves the result. Runs a second time if that transaction is rolled back.
        let run: @Sendable (WriteTransaction) throws -> Void
        /// Saves the error of the write.
        let fail: @Sendable (StorageError) -> Void
        /// Resumes the task after the commit, or with the error of the commit.
        let finish: @Sendable (StorageError?) -> Void
    }

    /// A write in the transaction failed.
    private struct JobFailure: Error {}

    private struct State {
        var jobs: [Job] = []
        var isWriting = false
        var isFinished = false
    }

    /// Maximum number of waiting writes. More means that the disk does not keep up, so further writes fail at once.
    static let capacity = 10_000
    /// Maximum number of writes in one transaction. Beyond some hundreds a commit costs little of each, and if one
    /// write fails, all of them run again.
    private static let batch = 512

    private let pool: DatabasePool
    private let path: String
    /// Called before each transaction. If it throws, all writes of the transaction fail.
    private let check: @Sendable () throws -> Void
    private let state = Mutex(State())
    private let thread = DispatchQueue(label: "receipt-bridge.store")

    init(pool: DatabasePool, path: String, check: @escaping @Sendable () throws -> Void) {
        self.pool = pool
        self.path = path
        self.check = check
    }

    /// Number of writes that no transaction has taken yet.
    var waiting: Int { state.withLock { $0.jobs.count } }

    /// Runs a write and waits for its commit. Throws the error of the write or of the commit.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Result
    ) async throws(StorageError) -> Result {
        let outcome: Swift.Result<Result, StorageError> = await withCheckedContinuation { continuation in
            let stored = Mutex(
                Swift.Result<Result, StorageError>.failure(StorageError(.failed, at: path, "not written")))
            let job = Job(
                run: { transaction in
                    let value = try body(transaction)
                    stored.withLock { $0 = .success(value) }
                },
                fail: { failure in stored.withLock { $0 = .failure(failure) } },
                finish: { failure in
                    let result = stored.withLock { $0 }
                    continuation.resume(returning: failure.map { .failure($0) } ?? result)
                })
            if let failure = add(job) { job.finish(failure) }
        }
        return try outcome.get()
    }

    /// Waits for the writes in progress and refuses later ones.
    func finish() async {
        state.withLock { $0.isFinished = true }
        await withCheckedContinuation { continuation in thread.async { continuation.resume() } }
    }

    /// Queues a write. Returns an error if the queue is full or closed.
    private func add(_ job: Job) -> StorageError? {
        state.withLock { state in
            guard !state.isFinished else { return StorageError(.notOpen, at: path, "the store is closed") }
            guard state.jobs.count < Self.capacity else {
                return StorageError(
                    .locked, at: path, "write queue full: \(Self.capacity) writes are waiting for the disk")
            }
            state.jobs.append(job)
            if !state.isWriting {
                state.isWriting = true
                thread.async { self.work() }
            }
            return nil
        }
    }

    /// Commits batches until no write is waiting.
    private func work() {
        while true {
            let jobs = state.withLock { state -> [Job] in
                let jobs = Array(state.jobs.prefix(Self.batch))
                state.jobs.removeFirst(jobs.count)
                state.isWriting = !jobs.isEmpty
                return jobs
            }
            guard !jobs.isEmpty else { return }
            var failure: StorageError?
            do {
                try check()
                try commit(jobs)
            } catch {
                failure = StorageError(error, at: path)
            }
            for job in jobs { job.finish(failure) }
        }
    }

    /// Commits all writes in one transaction. A savepoint for each would copy every page that it changes. So only if
    /// a write fails are all of them run again, each in its own savepoint.
    private func commit(_ jobs: [Job]) throws {
        do {
            try pool.write { db in
                let transaction = WriteTransaction(db)
                for job in jobs {
                    do { try job.run(transaction) } catch { throw JobFailure() }
                }
            }
        } catch is JobFailure {
            var failure: StorageError?
            do {
                try pool.write { db in
                    let transaction = WriteTransaction(db)
                    for job in jobs {
                        let error = runAlone(job, in: transaction)
                        if failure == nil { failure = error }
                    }
                }
            } catch {
                // If the disk is full, SQLite may roll back the whole transaction. The error of the transaction does
                // not say so.
                if let failure, failure.code == .full { throw failure }
                throw error
            }
        }
    }

    /// Runs one write in a savepoint and rolls back only its changes if it fails. Returns the error.
    private func runAlone(_ job: Job, in transaction: WriteTransaction) -> StorageError? {
        do {
            try transaction.db.inSavepoint {
                try job.run(transaction)
                return .commit
            }
            return nil
        } catch {
            transaction.forgetApps()
            let failure = StorageError(error, at: path)
            job.fail(failure)
            return failure
        }
    }
}
