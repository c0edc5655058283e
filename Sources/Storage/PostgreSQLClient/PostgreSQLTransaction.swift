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
            [try PostgreSQLStatement(PostgreSQLQuery("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"))] + timeouts
    }

    /// Runs the queries in one round trip. After an error the transaction can only be rolled back.
    package func run(_ queries: [PostgreSQLQuery]) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        if queries.isEmpty { return [] }
        return try await run(.statements(try PostgreSQLClient.statements(queries)), .partOf(transaction: id))
    }

    package func query(_ query: PostgreSQLQuery) async throws(PostgreSQLError) -> PostgreSQLResult {
        try PostgreSQLClient.only(try await run([query]))
    }

    /// Copies rows with a statement such as `COPY note (id, text) FROM STDIN (FORMAT binary)`. The types of the values
    /// must be those of the columns. Nothing else may run in the transaction meanwhile. Returns the number of rows.
    package func copyIn(_ sql: String, rows: [[PostgreSQLValue]]) async throws(PostgreSQLError) -> Int {
        // A job that copies has no other statements.
        if state.withLock({ $0.progress == .notBegun }) { try await begin() }
        return try await run(PostgreSQLClient.copy(sql, rows: rows), .partOf(transaction: id)).last?.affectedRows ?? 0
    }

    /// Runs the queries, whose results are not needed, and commits, in one round trip. Nothing can be run afterwards.
    /// Without this call, the transaction is committed at the end of its closure.
    ///
    /// Throws the first error of a statement even if the closure has ignored it, because the server rolls back then.
    package func commit(after queries: [PostgreSQLQuery] = []) async throws(PostgreSQLError) {
        let (progress, error) = state.withLock { ($0.progress, $0.error) }
        if let error { throw error }
        if progress == .notBegun, !queries.isEmpty { try await begin() }
        guard progress == .begun || !queries.isEmpty else { return }
        let statements = try PostgreSQLClient.statements(queries + [PostgreSQLQuery("COMMIT")])
        let results = try await run(.statements(statements), .commitOf(transaction: id))
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
        guard hasBegun, let rollBack = try? PostgreSQLStatement(PostgreSQLQuery("ROLLBACK")) else { return }
        // The deadline of the transaction can have passed, but the connection is still good.
        let deadline = max(deadline, .now + .seconds(1))
        _ = await client.outcome(of: .statements([rollBack]), .lastOf(transaction: id), 0, deadline)
    }

    private func begin() async throws(PostgreSQLError) { _ = try await run(.statements([]), .partOf(transaction: id)) }

    /// Runs a job, the first one after the statements of ``beginning``.
    private func run(
        _ work: PostgreSQLJob.Work, _ place: PostgreSQLJob.Place
    ) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        let isFirst = state.withLock { state in
            guard state.progress == .notBegun else { return false }
            state.progress = .begun
            return true
        }
        let outcome =
            if isFirst, case .statements(let statements) = work {
                await client.outcome(
                    of: .statements(beginning + statements), .firstOf(transaction: id), beginning.count, deadline)
            } else {
                await client.outcome(of: work, place, 0, deadline)
            }
        if case .failure(let error) = outcome { state.withLock { $0.error = $0.error ?? error } }
        return try outcome.get()
    }
}
