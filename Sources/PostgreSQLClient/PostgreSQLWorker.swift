import Dispatch
import Foundation
import Synchronization

/// The batches that wait for a connection, and the state of the connections.
final class JobQueue: Sendable {
    /// One batch or transaction.
    struct Job {
        let deadline: ContinuousClock.Instant
        /// Runs on the thread of a connection.
        let run: @Sendable (PostgreSQLConnection) -> Void
        let fail: @Sendable (PostgreSQLError) -> Void
    }

    private struct State {
        /// By number, in the order of arrival.
        var jobs: [(number: UInt64, job: Job)] = []
        var nextNumber: UInt64 = 0
        var idle = 0
        var connections = 0
        var threads = 0
        var lastError: PostgreSQLError?
        var serverVersion: Int?
        var isClosed = false
    }

    /// Maximum number of waiting batches. More means that the server does not keep up, so further ones fail at once.
    private static let capacity = 10_000

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)

    var isConnected: Bool { state.withLock { $0.connections > 0 } }
    var lastError: PostgreSQLError? { state.withLock { $0.lastError } }
    var serverVersion: Int? { state.withLock { $0.serverVersion } }
    var waiting: Int { state.withLock { $0.jobs.count } }
    var threads: Int { state.withLock { $0.threads } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    private static let closed = PostgreSQLError(.closed, "the client was closed")

    /// Runs a batch on the next free connection and returns its result.
    func submit<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (PostgreSQLConnection) throws(PostgreSQLError) -> Result
    ) async throws(PostgreSQLError) -> Result {
        let result: Swift.Result<Result, PostgreSQLError> = await withCheckedContinuation { continuation in
            add(
                Job(
                    deadline: deadline,
                    run: { connection in
                        do throws(PostgreSQLError) {
                            continuation.resume(returning: .success(try body(connection)))
                        } catch {
                            continuation.resume(returning: .failure(error))
                        }
                    }, fail: { continuation.resume(returning: .failure($0)) }))
        }
        return try result.get()
    }

    /// Assigns a connection to a transaction.
    func begin(_ transaction: PostgreSQLTransaction, until deadline: ContinuousClock.Instant)
        async throws(PostgreSQLError)
    {
        let failure: PostgreSQLError? = await withCheckedContinuation { continuation in
            add(
                Job(
                    deadline: deadline,
                    run: { connection in
                        continuation.resume(returning: nil)
                        transaction.serve(on: connection)
                    }, fail: { continuation.resume(returning: $0) }))
        }
        if let failure { throw failure }
    }

    private func add(_ job: Job) {
        let outcome = state.withLock { state -> (failure: PostgreSQLError?, number: UInt64, waits: Bool) in
            if state.isClosed { return (Self.closed, 0, false) }
            if state.connections == 0, let error = state.lastError { return (error, 0, false) }
            guard state.jobs.count < Self.capacity else {
                return (PostgreSQLError(.tooManyConnections, "\(Self.capacity) batches wait for the server"), 0, false)
            }
            state.nextNumber += 1
            state.jobs.append((state.nextNumber, job))
            return (nil, state.nextNumber, state.idle < state.jobs.count)
        }
        if let failure = outcome.failure { return job.fail(failure) }
        signal.signal()
        guard outcome.waits else { return }
        // Every connection is busy, or there is none yet.
        let (number, rest) = (outcome.number, (job.deadline - .now).components)
        let nanoseconds = max(0, rest.seconds) * 1_000_000_000 + max(0, rest.attoseconds / 1_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [self] in
            let expired = state.withLock { state -> Job? in
                guard let index = state.jobs.firstIndex(where: { $0.number == number }) else { return nil }
                return state.jobs.remove(at: index).job
            }
            expired?.fail(PostgreSQLError(.notConnected, "no connection was free in time"))
        }
    }

    /// Waits for a job; `nil` after the queue was closed, or if the time is over.
    func next(within limit: DispatchTimeInterval) -> Job? {
        state.withLock { $0.idle += 1 }
        defer { state.withLock { $0.idle -= 1 } }
        guard signal.wait(timeout: .now() + limit) == .success else { return nil }
        return state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst().job }
    }

    func threadStarted() { state.withLock { $0.threads += 1 } }
    func threadEnded() { state.withLock { $0.threads -= 1 } }

    func connected(_ version: Int) {
        state.withLock { state in
            state.connections += 1
            state.serverVersion = version
            state.lastError = nil
        }
    }

    func disconnected() { state.withLock { $0.connections -= 1 } }

    /// Records a failed attempt to connect. If there is no other connection, the waiting batches fail.
    func failed(_ error: PostgreSQLError) {
        let jobs = state.withLock { state -> [Job] in
            state.lastError = error
            guard state.connections == 0 else { return [] }
            defer { state.jobs = [] }
            return state.jobs.map(\.job)
        }
        for job in jobs { job.fail(error) }
    }

    func close() {
        let threads = state.withLock { state -> Int in
            state.isClosed = true
            return state.threads
        }
        for _ in 0..<threads { signal.signal() }
    }

    /// Fails the batches that no thread will take any more.
    func failRest() {
        let jobs = state.withLock { state -> [Job] in
            guard state.threads == 0 else { return [] }
            defer { state.jobs = [] }
            return state.jobs.map(\.job)
        }
        for job in jobs { job.fail(Self.closed) }
    }
}

/// The thread of one connection: connects, runs jobs, and connects again after an error.
struct PostgreSQLWorker: Sendable {
    private let configuration: PostgreSQLConfiguration
    private let queue: JobQueue

    /// Milliseconds until the next attempt to connect.
    private static let pauses = [500, 1_000, 2_000, 4_000, 8_000, 15_000]

    init(_ configuration: PostgreSQLConfiguration, _ queue: JobQueue) {
        self.configuration = configuration
        self.queue = queue
        queue.threadStarted()
    }

    func run() {
        var failures = 0
        while !queue.isClosed {
            do throws(PostgreSQLError) {
                let connection = try PostgreSQLConnection(configuration, Libpq(configuration.library))
                failures = 0
                queue.connected(connection.serverVersion)
                serve(connection)
                queue.disconnected()
            } catch {
                queue.failed(error)
                pause(Self.pauses[min(failures, Self.pauses.count - 1)])
                failures += 1
            }
        }
        queue.threadEnded()
        queue.failRest()
    }

    /// Runs jobs until the connection is lost or the queue is closed and empty.
    private func serve(_ connection: PostgreSQLConnection) {
        while !connection.isClosed() {
            guard let job = queue.next(within: .seconds(1)) else {
                if queue.isClosed && queue.waiting == 0 { return }
                continue
            }
            if ContinuousClock.now >= job.deadline {
                job.fail(PostgreSQLError(.notConnected, "no connection was free in time"))
            } else if connection.isClosed() {
                job.fail(PostgreSQLError(.notConnected, "the server closed the connection"))
            } else {
                job.run(connection)
            }
        }
    }

    /// Sleeps in small steps, so that closing does not take long.
    private func pause(_ milliseconds: Int) {
        for _ in 0..<max(1, milliseconds / 50) where !queue.isClosed { usleep(50_000) }
    }
}
