import PostgreSQLClient
import Storage
import Synchronization

/// Groups the writes of many tasks into few transactions: writes that arrive while others are committed go into the
/// next batch (group commit).
///
/// Each write must be idempotent, because it is repeated if a batch fails or if the connection is lost during the
/// commit.
final class WriteBatches: Sendable {
    /// One write: what it locks, its record, and further statements.
    struct Write: Sendable {
        let slots: [LockSlot]
        let customers: CustomerLocks
        let record: RecordRow
        let queries: [PostgreSQLQuery]
    }

    struct Outcome: Sendable {
        /// Whether the record's transaction is the most recently signed one of its purchase; `nil` if the record was
        /// already stored.
        let isNew: Bool?
        /// `true` if the write may have been committed before already, by an attempt whose outcome is unknown.
        let isRepetition: Bool
    }

    private struct Job: Sendable {
        let write: Write
        let continuation: CheckedContinuation<Result<Outcome, StorageError>, Never>
    }

    private struct State {
        var jobs: [Job] = []
        /// Number of batches in progress.
        var running = 0
        var isFinished = false
        /// Resumed once no batch is in progress.
        var finishing: [CheckedContinuation<Void, Never>] = []

        /// Whether a batch begins beside a number of others in progress.
        func shouldBegin(beside others: Int) -> Bool {
            others == 0
                ? !jobs.isEmpty : others < WriteBatches.connections && jobs.count >= WriteBatches.minimumOfFurtherBatch
        }
    }

    /// Maximum number of waiting writes. More means that the database does not keep up, so further writes fail at once.
    private static let capacity = 10_000
    /// Maximum number of writes in one transaction.
    static let batch = 64
    /// Maximum number of transactions at a time, each on a connection of its own.
    private static let connections = 2
    /// Number of waiting writes from which a further transaction begins while others are in progress. A large
    /// transaction costs the database less per write than several small ones.
    private static let minimumOfFurtherBatch = 48

    private let client: PostgreSQLClient
    private let place: String
    private let writer: Int64
    /// Stores the records.
    private let statement: RecordStatement
    private let state = Mutex(State())

    /// - Parameter writer: identifies the store object in the change feed.
    init(client: PostgreSQLClient, place: String, writer: Int64, statement: RecordStatement) {
        self.client = client
        self.place = place
        self.writer = writer
        self.statement = statement
    }

    /// Number of writes that no transaction has taken yet.
    var waiting: Int { state.withLock { $0.jobs.count } }

    /// Runs a write and waits for its commit.
    func run(_ write: Write) async throws(StorageError) -> Outcome {
        let result = await withCheckedContinuation { continuation in
            if let failure = add(Job(write: write, continuation: continuation)) {
                continuation.resume(returning: .failure(failure))
            }
        }
        return try result.get()
    }

    /// Waits for the writes in progress and refuses later ones.
    func finish() async {
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
    private func add(_ job: Job) -> StorageError? {
        state.withLock { state in
            guard !state.isFinished else { return StorageError(.notOpen, at: place, "the store is closed") }
            guard state.jobs.count < Self.capacity else {
                return StorageError(
                    .locked, at: place, "write queue full: \(Self.capacity) writes are waiting for the database")
            }
            state.jobs.append(job)
            if state.shouldBegin(beside: state.running) {
                state.running += 1
                Task { await self.work() }
            }
            return nil
        }
    }

    /// Commits batches until too few writes are waiting. Those are committed by a batch in progress, after its own.
    private func work() async {
        while let jobs = next() { await run(jobs) }
    }

    /// Takes the next batch; `nil` if too few writes are waiting.
    private func next() -> [Job]? {
        let (jobs, finishing) = state.withLock { state -> ([Job], [CheckedContinuation<Void, Never>]) in
            if state.shouldBegin(beside: state.running - 1) {
                let jobs = Array(state.jobs.prefix(Self.batch))
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

    /// Commits a batch. If it fails because of one of its writes, each of them is committed by itself.
    private func run(_ jobs: [Job]) async {
        guard let failure = await commitAndRepeat(jobs, isRepetition: false) else { return }
        switch failure.error.code {
        case .conflict, .duplicate, .invalid, .failed:
            for job in jobs {
                if let failure = await commitAndRepeat([job], isRepetition: failure.isRepetition) {
                    fail([job], failure.error)
                }
            }
        default:
            fail(jobs, failure.error)
        }
    }

    /// Commits writes, and repeats them once if the outcome is unknown. Returns the error if they failed, and whether
    /// the next attempt is a repetition.
    private func commitAndRepeat(
        _ jobs: [Job], isRepetition: Bool
    ) async -> (error: PostgreSQLError, isRepetition: Bool)? {
        guard let error = await commit(jobs, isRepetition: isRepetition) else { return nil }
        guard error.code == .outcomeUnknown else { return (error, isRepetition) }
        return await commit(jobs, isRepetition: true).map { ($0, true) }
    }

    /// Commits writes in one transaction and resumes their tasks. Returns the error if it fails.
    private func commit(_ jobs: [Job], isRepetition: Bool) async -> PostgreSQLError? {
        var customers = CustomerLocks()
        for job in jobs { customers.formUnion(job.write.customers) }
        let preparation = [
            PostgreSQLQuery(LockSlot.statement(jobs.flatMap(\.write.slots))), PostgreSQLQuery(customers.statement),
            statement.preparation,
        ]
        let records = statement.queries(jobs.map(\.write.record), writer: writer)
        do throws(PostgreSQLError) {
            let results = try await client.run(preparation + records + jobs.flatMap(\.write.queries))
            let outcomes = try RecordStatement.outcomes(results[preparation.count...].prefix(records.count))
            for (position, job) in jobs.enumerated() {
                job.continuation.resume(
                    returning: .success(Outcome(isNew: outcomes[position], isRepetition: isRepetition)))
            }
            return nil
        } catch {
            return error
        }
    }

    private func fail(_ jobs: [Job], _ error: PostgreSQLError) {
        let error = StorageError(error, at: place)
        for job in jobs { job.continuation.resume(returning: .failure(error)) }
    }
}
