import ReceiptBridgeBase
import Synchronization

/// A client of a PostgreSQL database. One thread drives all connections with libpq's pipeline mode.
///
/// If the connections are lost, they are opened again in the background. Once a connection attempt has failed, calls
/// fail at once with `notConnected` until an attempt succeeds.
package final class PostgreSQLClient: Sendable {
    private let configuration: PostgreSQLConfiguration
    private let commandQueue = PostgreSQLCommandQueue()
    private let lastTransaction = Atomic<UInt64>(0)

    /// A conflict is attempted this many times.
    private static let maximumAttempts = 5

    /// Connects in the background.
    package init(_ configuration: PostgreSQLConfiguration) {
        self.configuration = configuration
        let commandQueue = commandQueue
        if commandQueue.reader >= 0 {
            PostgreSQLThread.start { PostgreSQLEventLoop.run(commandQueue, configuration) }
        } else {
            PostgreSQLEventLoop.end(commandQueue)
        }
    }

    deinit {
        commandQueue.stop()
    }

    /// The version of a library of libpq, for example 150018. Throws `libraryMissing` or `libraryTooOld`.
    package static func libraryVersion(of library: String) throws(PostgreSQLError) -> Int {
        try PostgreSQLLibrary.version(of: library)
    }

    // MARK: Connections

    package var isConnected: Bool { commandQueue.health.connections > 0 }

    /// The error of the last connection attempt, or of the last lost connection. `nil` after a success.
    package var lastError: PostgreSQLError? { commandQueue.health.lastError }

    /// Waits for a connection. Throws the last error of a connection attempt, at once if a repetition cannot help.
    package func connected(within limit: Duration) async throws(PostgreSQLError) {
        let final: [PostgreSQLError.Code] = [.libraryMissing, .libraryTooOld, .invalid, .missing, .notPermitted]
        let deadline = ContinuousClock.now + limit
        while true {
            let health = commandQueue.health
            if health.connections > 0 { return }
            if let error = health.lastError, final.contains(error.code) || .now >= deadline { throw error }
            if .now >= deadline || Task.isCancelled {
                throw PostgreSQLError(.notConnected, "the server did not answer in time")
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Rejects new calls, waits for those that were sent and closes the connections.
    package func close() async {
        commandQueue.stop()
        await commandQueue.end.wait()
    }

    // MARK: Statements

    /// Runs the queries as one implicit transaction: one round trip, all or nothing. Repeated if the transaction
    /// conflicts with another one. `limit` includes the time to wait for a connection.
    package func run(
        _ queries: [SQLStatement], within limit: Duration? = nil
    ) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        if queries.isEmpty { return [] }
        let statements = try PostgreSQLClient.statements(queries)
        let limits = try timeouts(limit)
        let deadline = ContinuousClock.now + (limit ?? configuration.statementTimeout)
        return try await repeating(until: deadline) { () async throws(PostgreSQLError) in
            try await outcome(of: limits + statements, .shared, limits.count, deadline).get()
        }
    }

    package func query(
        _ query: SQLStatement, within limit: Duration? = nil
    ) async throws(PostgreSQLError) -> PostgreSQLResult {
        try PostgreSQLClient.only(try await run([query], within: limit))
    }

    /// Runs `BEGIN … COMMIT` on a connection that no other caller uses meanwhile, at the isolation level READ
    /// COMMITTED. If the closure throws, the transaction is rolled back and the error is rethrown. The closure is
    /// called again after a conflict with another transaction. BEGIN is sent with the first statements. `limit`
    /// includes the time to wait for a connection.
    package func transaction<Success: Sendable>(
        within limit: Duration? = nil, _ body: @Sendable (PostgreSQLTransaction) async throws -> Success
    ) async throws -> Success {
        let deadline = ContinuousClock.now + (limit ?? configuration.statementTimeout)
        let limits = try timeouts(limit)
        return try await repeating(until: deadline) {
            let id = lastTransaction.add(1, ordering: .relaxed).newValue
            let transaction = try PostgreSQLTransaction(of: self, id: id, limits, deadline)
            do {
                let success = try await body(transaction)
                try await transaction.commit()
                return success
            } catch {
                await transaction.rollBack()
                throw error
            }
        }
    }

    // MARK: Jobs

    private func repeating<Success, Failure: Error>(
        until deadline: ContinuousClock.Instant, _ run: () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        var attempt = 1
        while true {
            do throws(Failure) {
                return try await run()
            } catch {
                guard let conflict = error as? PostgreSQLError, conflict.isRepeatable,
                    attempt < PostgreSQLClient.maximumAttempts, .now < deadline
                else { throw error }
            }
            // Random, so that two transactions do not conflict again.
            try? await Task.sleep(for: .milliseconds(Int.random(in: 1...10 * attempt)))
            attempt += 1
        }
    }

    func outcome(
        of statements: [PostgreSQLStatement], _ place: PostgreSQLJob.Place, _ skippedResults: Int,
        _ deadline: ContinuousClock.Instant
    ) async -> PostgreSQLJob.Outcome {
        await withCheckedContinuation { continuation in
            commandQueue.submit(
                PostgreSQLJob(
                    statements: statements, place: place, skippedResults: skippedResults, deadline: deadline,
                    continuation: continuation))
        }
    }

    /// Encodes queries. Throws `invalid` if an argument cannot be sent.
    static func statements(_ queries: [SQLStatement]) throws(PostgreSQLError) -> [PostgreSQLStatement] {
        var statements: [PostgreSQLStatement] = []
        for query in queries { statements.append(try PostgreSQLStatement(query)) }
        return statements
    }

    static func only(_ results: [PostgreSQLResult]) throws(PostgreSQLError) -> PostgreSQLResult {
        guard let result = results.first else { throw PostgreSQLError(.failed, "the server returned no result") }
        return result
    }
}

// MARK: Timeouts of the server

extension PostgreSQLClient {
    /// True if the server's timeouts must be set for one call: its limit is longer than that of the connection, or the
    /// connection can have another server session for each transaction.
    private func needsTimeouts(_ limit: Duration?) -> Bool {
        !configuration.preparedStatements || (limit ?? .zero) > configuration.statementTimeout
    }

    /// Statement timeout, lock timeout and timeout of an idle transaction, in milliseconds.
    private func timeoutValues(_ limit: Duration?) -> [Int] {
        PostgreSQLConnector.timeouts(limit ?? configuration.statementTimeout)
    }

    /// The statement that sets the timeouts of a transaction, if it is needed.
    private func timeouts(_ limit: Duration?) throws(PostgreSQLError) -> [PostgreSQLStatement] {
        guard needsTimeouts(limit) else { return [] }
        return try PostgreSQLClient.statements([
            SQLStatement(
                "SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS setting (name, value)",
                [.texts(PostgreSQLConnector.timeoutNames), .texts(timeoutValues(limit).map(String.init))])
        ])
    }
}
