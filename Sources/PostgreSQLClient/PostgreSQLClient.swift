import Foundation
import Synchronization

/// A client of one PostgreSQL database with several connections.
///
/// Each connection has a thread, because libpq reads its socket itself. A batch of queries is sent as a whole, so it
/// takes one round trip. Without any connection calls fail at once, while the threads try to connect.
package final class PostgreSQLClient: Sendable {
    private let configuration: PostgreSQLConfiguration
    private let queue = JobQueue()

    /// Maximum number of repetitions after a deadlock or a serialization failure.
    private static let maximumRepetitions = 5

    /// Creates a client, which connects in the background.
    package init(_ configuration: PostgreSQLConfiguration) {
        self.configuration = configuration
        for number in 1...configuration.connections {
            let worker = PostgreSQLWorker(configuration, queue)
            let thread = Thread { worker.run() }
            thread.name = "postgresql-\(number)"
            thread.start()
        }
    }

    deinit { queue.close() }

    /// `true` if at least one connection is open.
    package var isConnected: Bool { queue.isConnected }
    /// The last error of connecting; `nil` after a success.
    package var lastError: PostgreSQLError? { queue.lastError }
    /// For example 150018 for version 15.18; `nil` before the first connection.
    package var serverVersion: Int? { queue.serverVersion }
    /// Number of batches that no connection has taken yet.
    package var waiting: Int { queue.waiting }

    /// Loads the library and returns its version, for example 150018.
    ///
    /// - Throws: `libraryMissing` or `libraryTooOld`.
    package static func libraryVersion(of library: String) throws(PostgreSQLError) -> Int {
        try Libpq(library).version
    }

    /// Waits for a connection.
    ///
    /// - Throws: the last error of connecting if there is none within the limit.
    package func connected(within limit: Duration) async throws(PostgreSQLError) {
        let deadline = ContinuousClock.now + limit
        while !queue.isConnected {
            guard ContinuousClock.now < deadline else {
                throw queue.lastError ?? PostgreSQLError(.notConnected, "the server did not respond in time")
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Runs queries as one implicit transaction, in one round trip: either all of them are committed, or none.
    /// Deadlocks and serialization failures are repeated.
    ///
    /// - Parameter limit: maximum duration, by default the statement timeout of the configuration.
    package func run(
        _ queries: [PostgreSQLQuery], within limit: Duration? = nil
    ) async throws(PostgreSQLError) -> [PostgreSQLResult] {
        let deadline = deadline(limit)
        let settings = settings(for: limit)
        var repetitions = 0
        while true {
            do throws(PostgreSQLError) {
                let results = try await queue.submit(until: deadline) { connection throws(PostgreSQLError) in
                    try connection.run(settings + queries, until: deadline)
                }
                return Array(results.dropFirst(settings.count))
            } catch {
                guard error.code == .conflict, repetitions < Self.maximumRepetitions else { throw error }
                repetitions += 1
                try? await Task.sleep(for: .milliseconds(Int.random(in: 1...(10 * repetitions))))
            }
        }
    }

    /// Runs one query in a transaction of its own.
    package func query(
        _ query: PostgreSQLQuery, within limit: Duration? = nil
    ) async throws(PostgreSQLError) -> PostgreSQLResult {
        let results = try await run([query], within: limit)
        guard let result = results.first else { throw PostgreSQLError(.failed, "no result") }
        return result
    }

    /// Runs a transaction on one connection, which does nothing else meanwhile. It is committed when `body` returns,
    /// and rolled back if it throws. Each call in it is a round trip. The isolation level is READ COMMITTED.
    ///
    /// - Parameters:
    ///   - limit: maximum duration of the whole transaction, by default the statement timeout of the configuration.
    ///   - body: runs again after a deadlock or a serialization failure.
    package func transaction<Result: Sendable>(
        within limit: Duration? = nil, _ body: @Sendable (PostgreSQLTransaction) async throws -> Result
    ) async throws -> Result {
        let deadline = deadline(limit)
        var repetitions = 0
        while true {
            let transaction = PostgreSQLTransaction(until: deadline)
            do {
                try await queue.begin(transaction, until: deadline)
                _ = try await transaction.run([PostgreSQLQuery("BEGIN")] + settings(for: limit))
                let result = try await body(transaction)
                _ = try await transaction.run([PostgreSQLQuery("COMMIT")])
                transaction.end()
                return result
            } catch {
                transaction.abort()
                guard let conflict = error as? PostgreSQLError, conflict.code == .conflict,
                    repetitions < Self.maximumRepetitions
                else { throw error }
                repetitions += 1
                try? await Task.sleep(for: .milliseconds(Int.random(in: 1...(10 * repetitions))))
            }
        }
    }

    /// Inserts rows by `COPY … FROM STDIN (FORMAT binary)` in a transaction of its own.
    ///
    /// - Returns: the number of rows.
    package func copyIn(
        _ sql: String, rows: [[PostgreSQLValue]], within limit: Duration? = nil
    ) async throws(PostgreSQLError) -> Int {
        let deadline = deadline(limit)
        return try await queue.submit(until: deadline) { connection throws(PostgreSQLError) in
            try connection.copyIn(sql, rows, until: deadline)
        }
    }

    /// Refuses further calls, waits for those in progress and closes the connections.
    package func close() async {
        queue.close()
        while queue.threads > 0 { try? await Task.sleep(for: .milliseconds(5)) }
    }

    private func deadline(_ limit: Duration?) -> ContinuousClock.Instant {
        .now + (limit ?? configuration.statementTimeout)
    }

    /// The statements that raise the server's limits for a batch with a longer limit than usual.
    private func settings(for limit: Duration?) -> [PostgreSQLQuery] {
        guard let limit, limit > configuration.statementTimeout else { return [] }
        let milliseconds = String(limit.components.seconds * 1_000 + 1_000)
        return [
            PostgreSQLQuery(
                """
                SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true),
                set_config('idle_in_transaction_session_timeout', $1, true)
                """, [.text(milliseconds)])
        ]
    }
}
