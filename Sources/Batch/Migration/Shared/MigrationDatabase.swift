import PostgreSQLClient

/// The tables of shared migrations in a PostgreSQL database. Every statement is safe to repeat.
///
/// All times are those of the database's clock, in milliseconds since 1970.
struct MigrationDatabase: Sendable {
    let client: PostgreSQLClient
    /// Hosts and database, for messages.
    let place: String
    /// Name of this worker, the holder of its leases.
    let worker: String
    /// Duration of a lease.
    let lease: Duration

    /// SQL of the database's clock.
    static let clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    /// Time for statements about many rows.
    static let longLimit = Duration.seconds(1_800)
    /// Time for all other statements.
    static let limit = Duration.seconds(60)

    /// Connects, and creates missing tables and views.
    func open() async throws(RunError) {
        do throws(PostgreSQLError) { try await client.connected(within: .seconds(10)) } catch { throw runError(error) }
        try await createTables()
        try await createViews()
    }

    /// Runs queries as one transaction.
    @discardableResult
    func run(_ queries: [PostgreSQLQuery], within limit: Duration = Self.limit) async throws(RunError)
        -> [PostgreSQLResult]
    {
        try await on { try await client.run(queries, within: limit) }
    }

    /// Runs one statement.
    func run(_ sql: String, _ arguments: [PostgreSQLValue], within limit: Duration = Self.limit) async throws(RunError)
    {
        try await run([PostgreSQLQuery(sql, arguments)], within: limit)
    }

    /// Runs one query and returns what `decode` makes of its rows.
    func rows<Value>(
        _ sql: String, _ arguments: [PostgreSQLValue] = [], within limit: Duration = Self.limit,
        _ decode: (PostgreSQLRow) throws -> Value
    ) async throws(RunError) -> [Value] {
        try await rows([PostgreSQLQuery(sql, arguments)], within: limit, decode)
    }

    /// Runs queries as one transaction and returns what `decode` makes of the rows of the last one.
    func rows<Value>(
        _ queries: [PostgreSQLQuery], within limit: Duration = Self.limit, _ decode: (PostgreSQLRow) throws -> Value
    ) async throws(RunError) -> [Value] {
        let rows = try await run(queries, within: limit).last?.rows ?? []
        do { return try rows.map(decode) } catch { throw runError(error) }
    }

    /// Calls the closure and converts its errors. An error of the connection is repeated for a minute, because a
    /// failover takes seconds.
    func on<Success: Sendable>(
        _ body: @Sendable () async throws -> Success
    ) async throws(RunError) -> Success {
        let end = ContinuousClock.now + .seconds(60)
        var pause = Duration.milliseconds(100)
        while true {
            do {
                return try await body()
            } catch {
                guard let error = error as? PostgreSQLError, error.isOfConnection, .now + pause < end,
                    !Task.isCancelled
                else { throw runError(error) }
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(5))
        }
    }

    func runError(_ error: any Error) -> RunError {
        guard let error = error as? PostgreSQLError else { return RunError(of: error) }
        let text = "the database \(place): \(error)"
        let canBeRepeated: [PostgreSQLError.Code] = [
            .full, .conflict, .timedOut, .closed, .notConnected, .outcomeUnknown, .readOnly, .tooManyConnections,
        ]
        return canBeRepeated.contains(error.code) ? .interrupted(text) : .notPossible(text)
    }
}

extension PostgreSQLError {
    /// Whether the statement may succeed once there is a connection to a server that accepts writes.
    var isOfConnection: Bool {
        [.notConnected, .outcomeUnknown, .readOnly, .tooManyConnections, .timedOut].contains(code)
    }
}
