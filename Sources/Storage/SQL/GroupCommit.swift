import Synchronization

/// Groups the writes of many tasks into few transactions: writes that arrive while others are committed go into the
/// next batch.
///
/// Each write must be idempotent, because it is repeated alone if its batch fails.
package final class GroupCommit<Write: Sendable, Outcome: Sendable>: Sendable {
    /// Commits writes in one transaction. Returns the outcome of each.
    package typealias Commit = @Sendable ([Write]) async throws(StorageError) -> [Outcome]

    private struct Job: Sendable {
        let write: Write
        let continuation: CheckedContinuation<Result<Outcome, StorageError>, Never>
    }

    private struct State {
        var jobs: [Job] = []
        var running = 0
        var isFinished = false
        var finishing: [CheckedContinuation<Void, Never>] = []
    }

    /// Maximum number of waiting writes. More means that the disk or the database does not keep up, so further writes
    /// fail at once.
    private static var capacity: Int { 10_000 }

    private let place: String
    private let batch: Int
    /// Maximum number of transactions at a time.
    private static var transactions: Int { 2 }
    /// Number of waiting writes from which a further transaction begins while another one is in progress. A large
    /// transaction costs less per write than several small ones.
    private static var minimumOfFurtherBatch: Int { 48 }
    /// The errors of a transaction that one of its writes can cause.
    private let errorsOfWrites: Set<StorageError.Code>
    private let state = Mutex(State())

    /// - Parameter batch: maximum number of writes in one transaction.
    init(place: String, batch: Int, errorsOfWrites: Set<StorageError.Code>) {
        (self.place, self.batch, self.errorsOfWrites) = (place, batch, errorsOfWrites)
    }

    /// Number of writes that no transaction has taken yet.
    package var waiting: Int { state.withLock { $0.jobs.count } }

    package func run(_ write: Write, _ commit: @escaping Commit) async throws(StorageError) -> Outcome {
        let result = await withCheckedContinuation { continuation in
            if let failure = add(Job(write: write, continuation: continuation), commit) {
                continuation.resume(returning: .failure(failure))
            }
        }
        return try result.get()
    }

    package func finish() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isFinished = true
                if state.running > 0 { state.finishing.append(continuation) }
                return state.running == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Queues a write. Returns an error if the queue is full or closed.
    private func add(_ job: Job, _ commit: @escaping Commit) -> StorageError? {
        state.withLock { state in
            guard !state.isFinished else { return StorageError(.notOpen, at: place, "the store is closed") }
            guard state.jobs.count < Self.capacity else {
                return StorageError(.locked, at: place, "write queue full: \(Self.capacity) writes are waiting")
            }
            state.jobs.append(job)
            if shouldBegin(state, beside: state.running) {
                state.running += 1
                Task { await self.work(commit) }
            }
            return nil
        }
    }

    /// Whether a batch begins beside a number of others in progress.
    private func shouldBegin(_ state: borrowing State, beside others: Int) -> Bool {
        others == 0
            ? !state.jobs.isEmpty
            : others < Self.transactions && state.jobs.count >= Self.minimumOfFurtherBatch
    }

    /// Commits batches until too few writes are waiting. Those are committed by a batch in progress, after its own.
    private func work(_ commit: Commit) async {
        while let jobs = next() {
            guard let failure = await run(jobs, commit) else { continue }
            guard errorsOfWrites.contains(failure.code), jobs.count > 1 else {
                fail(jobs, failure)
                continue
            }
            // One of the writes is the cause.
            for job in jobs {
                if let failure = await run([job], commit) { fail([job], failure) }
            }
        }
    }

    /// Takes the next batch; `nil` if too few writes are waiting.
    private func next() -> [Job]? {
        let (jobs, finishing) = state.withLock { state -> ([Job], [CheckedContinuation<Void, Never>]) in
            if shouldBegin(state, beside: state.running - 1) {
                let jobs = Array(state.jobs.prefix(batch))
                state.jobs.removeFirst(jobs.count)
                return (jobs, [])
            }
            state.running -= 1
            guard state.running == 0 else { return ([], []) }
            defer { state.finishing = [] }
            return ([], state.finishing)
        }
        for continuation in finishing { continuation.resume() }
        return jobs.isEmpty ? nil : jobs
    }

    private func run(_ jobs: [Job], _ commit: Commit) async -> StorageError? {
        do throws(StorageError) {
            let outcomes = try await commit(jobs.map(\.write))
            for (job, outcome) in zip(jobs, outcomes) { job.continuation.resume(returning: .success(outcome)) }
            return nil
        } catch {
            return error
        }
    }

    private func fail(_ jobs: [Job], _ error: StorageError) {
        for job in jobs { job.continuation.resume(returning: .failure(error)) }
    }
}
