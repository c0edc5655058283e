/// How to reach a PostgreSQL server.
package struct PostgreSQLConfiguration: Sendable {
    /// Connection parameters of libpq, without the password: `host`, `port`, `user`, `dbname`, `sslmode`, ….
    package var parameters: [(keyword: String, value: String)]
    /// Reads the password; called for each new connection, so that a changed password needs no restart.
    package var password: (@Sendable () throws -> String)?
    /// Number of connections.
    package var connections: Int
    /// Maximum duration of a statement on the server, and of a batch for which the caller sets no limit.
    package var statementTimeout: Duration
    /// `false` for poolers that do not support prepared statements in transaction mode.
    package var preparedStatements: Bool
    /// Name or path of the shared library.
    package var library: String
    /// Name in `pg_stat_activity`.
    package var applicationName: String

    package init(
        parameters: [(keyword: String, value: String)], password: (@Sendable () throws -> String)? = nil,
        connections: Int = 4, statementTimeout: Duration = .seconds(5), preparedStatements: Bool = true,
        library: String = "libpq.so.5", applicationName: String = "receipt-bridge"
    ) {
        self.parameters = parameters
        self.password = password
        self.connections = max(1, connections)
        self.statementTimeout = statementTimeout
        self.preparedStatements = preparedStatements
        self.library = library
        self.applicationName = applicationName
    }
}
