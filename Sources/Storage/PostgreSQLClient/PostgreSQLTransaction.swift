import Synchronization

/// A transaction in progress. It is valid only in the closure that it was passed to.
package final class PostgreSQLTransaction: Sendable {
    private let client: PostgreSQLClient
    private let id: UInt64
    private let deadline: ContinuousClock.Instant
    /// BEGIN and the timeouts, which are sent with the first statements.
    private let beginning: [PostgreSQLStatement]
    private let state = Mutex(State())

    private struct State {
        enum Progress { case notBegun, begun, ended }

        var progress = Progress.notBegun
        var error: PostgreSQLError?
    }

    init(
        of client: PostgreSQLClient, id: UInt64, _ timeouts: [PostgreSQLStatement],
        _ deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) {
        (self.client, self.id, self.deadline) = (client, id, deadline)
        beginning =
            [try PostgreSQLStatement(SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"))] + timeouts
    }

    /// Runs the queries in one round trip. After an error the transaction can only be rolled back.
    package func run(_ queries: [SQLStatement]) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        if queries.isEmpty { return [] }
        return try await run(try PostgreSQLClient.statements(queries), .partOf(transaction: id))
    }

    package func query(_ query: SQLStatement) async throws(PostgreSQLError) -> PostgreSQLResult {
        try PostgreSQLClient.only(try await run([query]))
    }

    /// Runs the queries, whose results are not needed, and commits, in one round trip. Nothing can be run afterwards.
    /// Without this call, the transaction is committed at the end of its closure.
    ///
    /// Throws the first error of a statement even if the closure has ignored it, because the server rolls back then.
    package func commit(after queries: [SQLStatement] = []) async throws(PostgreSQLError) {
        let (progress, error) = state.withLock { ($0.progress, $0.error) }
        if let error { throw error }
        if progress == .notBegun, !queries.isEmpty { try await begin() }
        guard progress == .begun || !queries.isEmpty else { return }
        let statements = try PostgreSQLClient.statements(queries + [SQLStatement("COMMIT")])
        let results = try await run(statements, .commitOf(transaction: id))
        guard results.last?.command == "COMMIT" else {
            throw PostgreSQLError(.failed, "the server has rolled the transaction back")
        }
        state.withLock { $0.progress = .ended }
    }

    /// Has no effect if the transaction has not begun or has ended.
    func rollBack() async {
        let hasBegun = state.withLock { state in
            defer { state.progress = .ended }
            return state.progress == .begun
        }
        guard hasBegun, let rollBack = try? PostgreSQLStatement(SQLStatement("ROLLBACK")) else { return }
        // The deadline of the transaction can have passed, but the connection is still good.
        let deadline = max(deadline, .now + .seconds(1))
        _ = await client.outcome(of: [rollBack], .lastOf(transaction: id), 0, deadline)
    }

    private func begin() async throws(PostgreSQLError) { _ = try await run([], .partOf(transaction: id)) }

    /// Runs a job, the first one after the statements of ``beginning``.
    private func run(
        _ statements: [PostgreSQLStatement], _ place: PostgreSQLJob.Place
    ) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        let isFirst = state.withLock { state in
            guard state.progress == .notBegun else { return false }
            state.progress = .begun
            return true
        }
        let outcome =
            if isFirst {
                await client.outcome(
                    of: beginning + statements, .firstOf(transaction: id), beginning.count, deadline)
            } else {
                await client.outcome(of: statements, place, 0, deadline)
            }
        if case .failure(let error) = outcome { state.withLock { $0.error = $0.error ?? error } }
        return try outcome.get()
    }
}
