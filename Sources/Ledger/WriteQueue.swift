import Dispatch
import GRDB
import Synchronization

/// Writes of many tasks in few transactions: whatever came while the disk was busy goes into the next one.
final class WriteQueue: Sendable {
    /// What one task wants written.
    private struct Job: Sendable {
        /// Inside a transaction; keeps its result for later.
        let run: @Sendable (Database) -> Void
        /// Tells the task, once the transaction is on disk, or why it is not.
        let finish: @Sendable (LedgerError?) -> Void
    }

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
    ) async throws(LedgerError) -> Result {
        let outcome: Swift.Result<Result, LedgerError> = await withCheckedContinuation { continuation in
            let kept = Mutex<Swift.Result<Result, LedgerError>?>(nil)
            let path = path
            let job = Job(
                run: { db in
                    var result: Swift.Result<Result, LedgerError>
                    do {
                        var value: Result?
                        try db.inSavepoint {
                            value = try body(db)
                            return .commit
                        }
                        result =
                            value.map { .success($0) }
                            ?? .failure(LedgerError(.failed, at: path, "nothing was written"))
                    } catch {
                        result = .failure(LedgerError(error, at: path))
                    }
                    kept.withLock { $0 = result }
                },
                finish: { failure in
                    let result = kept.withLock { $0 }
                    continuation.resume(
                        returning: failure.map { .failure($0) } ?? result
                            ?? .failure(LedgerError(.failed, at: path, "nothing was written")))
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

    private func add(_ job: Job) -> LedgerError? {
        state.withLock { state in
            guard !state.isFinished else { return LedgerError(.failed, at: path, "the store was closed") }
            guard state.jobs.count < Self.capacity else {
                return LedgerError(.locked, at: path, "\(Self.capacity) writes are waiting for the disk")
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
            var failure: LedgerError?
            do {
                try pool.write { db in for job in jobs { job.run(db) } }
            } catch {
                failure = LedgerError(error, at: path)
            }
            for job in jobs { job.finish(failure) }
        }
    }
}
