import Dispatch
import Synchronization

/// A transaction in progress, see ``PostgreSQLClient/transaction(within:_:)``. Its calls run one after another on the
/// thread of its connection.
package final class PostgreSQLTransaction: Sendable {
    private typealias Continuation = CheckedContinuation<Result<[PostgreSQLResult], PostgreSQLError>, Never>

    private enum Command {
        case run([PostgreSQLQuery], Continuation)
        case end(commits: Bool)
    }

    private struct State {
        var commands: [Command] = []
        /// The thread of the connection takes no more commands.
        var isOver = false
    }

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)
    private let deadline: ContinuousClock.Instant

    init(until deadline: ContinuousClock.Instant) { self.deadline = deadline }

    /// Runs queries in one round trip.
    package func run(_ queries: [PostgreSQLQuery]) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        let result = await withCheckedContinuation { (continuation: Continuation) in
            let isOver = state.withLock { state in
                if !state.isOver { state.commands.append(.run(queries, continuation)) }
                return state.isOver
            }
            if isOver {
                continuation.resume(returning: .failure(Self.over))
            } else {
                signal.signal()
            }
        }
        return try result.get()
    }

    /// Runs one query.
    package func query(_ query: PostgreSQLQuery) async throws(PostgreSQLError) -> PostgreSQLResult {
        guard let result = try await run([query]).first else { throw PostgreSQLError(.failed, "no result") }
        return result
    }

    private static let over = PostgreSQLError(.timedOut, "the transaction is over")

    /// Gives the connection back after the commit.
    func end() { add(.end(commits: true)) }

    /// Rolls back.
    func abort() { add(.end(commits: false)) }

    private func add(_ command: Command) {
        state.withLock { $0.commands.append(command) }
        signal.signal()
    }

    /// Executes the calls until the end or the deadline. Runs on the thread of the connection.
    func serve(on connection: PostgreSQLConnection) {
        var isCommitted = false
        loop: while true {
            let rest = (deadline - .now).components
            let nanoseconds = max(0, rest.seconds) * 1_000_000_000 + max(0, rest.attoseconds / 1_000_000_000)
            guard signal.wait(timeout: .now() + .nanoseconds(Int(nanoseconds))) == .success else { break }
            switch state.withLock({ $0.commands.removeFirst() }) {
            case .run(let queries, let continuation):
                do throws(PostgreSQLError) {
                    continuation.resume(returning: .success(try connection.run(queries, until: deadline)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            case .end(let commits):
                isCommitted = commits
                break loop
            }
        }
        let rest = state.withLock { state in
            state.isOver = true
            defer { state.commands = [] }
            return state.commands
        }
        for case .run(_, let continuation) in rest { continuation.resume(returning: .failure(Self.over)) }
        if !isCommitted && !connection.isBroken {
            _ = try? connection.run([PostgreSQLQuery("ROLLBACK")], until: .now + .seconds(1))
        }
    }
}
