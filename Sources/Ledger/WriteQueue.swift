import Dispatch
import GRDB
import Synchronization

/// Writes of many tasks in few transactions: whatever came while the disk was busy goes into the next one.
final class WriteQueue: Sendable {
    /// What one task wants written.
    private struct Job: Sendable {
        /// Inside a transaction; keeps its result for later. Where that transaction is undone, it runs once more.
        let run: @Sendable (Database) throws -> Void
        /// Keeps why it did not work.
        let fail: @Sendable (StorageError) -> Void
        /// Tells the task, once the transaction is on disk, or why it is not.
        let finish: @Sendable (StorageError?) -> Void
    }

    /// Some job of a transaction cannot be done.
    private struct JobFailure: Error {}

    private struct State {
        var jobs: [Job] = []
        var isWriting = false
        var isFinished = false
    }

    /// More waiting than this is a disk that does not keep up; whoever comes then is told at once.
    static let capacity = 10_000
    /// Jobs of one transaction.
    private static let batch = 512

    private let pool: DatabasePool
    private let path: String
    private let state = Mutex(State())
    private let thread = DispatchQueue(label: "receipt-bridge.store")

    init(pool: DatabasePool, path: String) {
        self.pool = pool
        self.path = path
    }

    /// Jobs that no transaction took yet.
    var waiting: Int { state.withLock { $0.jobs.count } }

    func run<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        let outcome: Swift.Result<Result, StorageError> = await withCheckedContinuation { continuation in
            let kept = Mutex(Swift.Result<Result, StorageError>.failure(StorageError(.failed, at: path, "not written")))
            let job = Job(
                run: { db in
                    let value = try body(db)
                    kept.withLock { $0 = .success(value) }
                },
                fail: { failure in kept.withLock { $0 = .failure(failure) } },
                finish: { failure in
                    let result = kept.withLock { $0 }
                    continuation.resume(returning: failure.map { .failure($0) } ?? result)
                })
            if let failure = add(job) { job.finish(failure) }
        }
        return try outcome.get()
    }

    /// Waits for what is under way; refuses what comes later.
    func finish() async {
        state.withLock { $0.isFinished = true }
        await withCheckedContinuation { continuation in thread.async { continuation.resume() } }
    }

    private func add(_ job: Job) -> StorageError? {
        state.withLock { state in
            guard !state.isFinished else { return StorageError(.failed, at: path, "the store was closed") }
            guard state.jobs.count < Self.capacity else {
                return StorageError(.locked, at: path, "\(Self.capacity) writes are waiting for the disk")
            }
            state.jobs.append(job)
            if !state.isWriting {
                state.isWriting = true
                thread.async { self.work() }
            }
            return nil
        }
    }

    /// Until nobody wants anything.
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
                try commit(jobs)
            } catch {
                failure = StorageError(error, at: path)
            }
            for job in jobs { job.finish(failure) }
        }
    }

    /// All in one transaction. A savepoint for each job would copy every page that the job changes: only where one fails
    /// are all done again, each so that it is undone alone.
    private func commit(_ jobs: [Job]) throws {
        do {
            try pool.write { db in
                for job in jobs {
                    do { try job.run(db) } catch { throw JobFailure() }
                }
            }
        } catch is JobFailure {
            try pool.write { db in for job in jobs { runAlone(job, in: db) } }
        }
    }

    private func runAlone(_ job: Job, in db: Database) {
        do {
            try db.inSavepoint {
                try job.run(db)
                return .commit
            }
        } catch {
            job.fail(StorageError(error, at: path))
        }
    }
}
