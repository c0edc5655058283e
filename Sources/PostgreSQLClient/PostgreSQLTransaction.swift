import Synchronization

/// A transaction in progress. It is valid only in the closure that it was passed to.
package struct PostgreSQLTransaction: Sendable {
    let client: PostgreSQLClient
    let id: UInt64
    let deadline: ContinuousClock.Instant
    private let state = State()

    /// Whether the transaction has begun on the server, and its first error.
    private final class State: Sendable {
        let hasBegun = Atomic(false)
        let error = Mutex<PostgreSQLError?>(nil)
    }

    /// Runs the queries in one round trip. After an error the transaction can only be rolled back.
    package func run(_ queries: [PostgreSQLQuery]) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        if queries.isEmpty { return [] }
        return try await run(try PostgreSQLClient.statements(queries), .partOf(transaction: id))
    }

    /// Runs one query. After an error the transaction can only be rolled back.
    package func query(_ query: PostgreSQLQuery) async throws(PostgreSQLError) -> PostgreSQLResult {
        try PostgreSQLClient.only(try await run([query]))
    }

    /// Copies rows with a statement such as `COPY note (id, text) FROM STDIN (FORMAT binary)`. The types of the values
    /// must be those of the columns. Nothing else may run in the transaction meanwhile. Returns the number of rows.
    package func copyIn(_ sql: String, rows: [[PostgreSQLValue]]) async throws(PostgreSQLError) -> Int {
        let work = try PostgreSQLClient.copy(sql, rows: rows)
        let outcome = await client.outcome(of: work, .partOf(transaction: id), 0, deadline)
        if case .failure(let error) = outcome { state.error.withLock { $0 = $0 ?? error } }
        return try outcome.get().last?.affectedRows ?? 0
    }

    func begin(_ timeouts: [PostgreSQLStatement]) async throws(PostgreSQLError) {
        let begin = try PostgreSQLStatement(PostgreSQLQuery("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"))
        _ = try await run([begin] + timeouts, .firstOf(transaction: id))
        state.hasBegun.store(true, ordering: .relaxed)
    }

    /// Throws the first error of a statement even if the closure has ignored it, because the server rolls back then.
    func commit() async throws(PostgreSQLError) {
        if let error = state.error.withLock({ $0 }) { throw error }
        let commit = try PostgreSQLStatement(PostgreSQLQuery("COMMIT"))
        state.hasBegun.store(false, ordering: .relaxed)
        let results = try await run([commit], .lastOf(transaction: id))
        guard results.first?.command == "COMMIT" else {
            throw PostgreSQLError(.failed, "the server has rolled the transaction back")
        }
    }

    /// Has no effect if the transaction has not begun or has ended.
    func rollBack() async {
        guard state.hasBegun.exchange(false, ordering: .relaxed),
            let rollBack = try? PostgreSQLStatement(PostgreSQLQuery("ROLLBACK"))
        else { return }
        // The deadline of the transaction can have passed, but the connection is still good.
        let deadline = max(deadline, .now + .seconds(1))
        _ = await client.outcome(of: .statements([rollBack]), .lastOf(transaction: id), 0, deadline)
    }

    private func run(
        _ statements: [PostgreSQLStatement], _ place: PostgreSQLJob.Place
    ) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        let outcome = await client.outcome(of: .statements(statements), place, 0, deadline)
        if case .failure(let error) = outcome { state.error.withLock { $0 = $0 ?? error } }
        return try outcome.get()
    }
}
