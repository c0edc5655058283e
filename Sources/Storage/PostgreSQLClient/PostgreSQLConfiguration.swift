/// The settings of a ``PostgreSQLClient``.
package struct PostgreSQLConfiguration: Sendable {
    /// Connection parameters of libpq by keyword: `host`, `hostaddr`, `port`, `user`, `dbname`, `sslmode`,
    /// `sslrootcert`, `target_session_attrs`, `connect_timeout` (seconds), `options` and so on. Several hosts are
    /// separated by commas. `password` is not allowed. PG* environment variables and `~/.pgpass` are not read.
    package var parameters: [(keyword: String, value: String)]
    /// Returns the password. It is called for each new connection, so that a changed password takes effect.
    package var password: (@Sendable () throws -> String)?
    package var connections: Int
    /// The time limit of a call without a limit of its own. The server cancels statements shortly before it.
    package var statementTimeout: Duration
    /// False for a pooler in transaction mode that does not support prepared statements, such as PgBouncer before
    /// 1.21.
    package var preparedStatements: Bool
    /// The file name or path of libpq.
    package var library: String
    /// The name of the program in `pg_stat_activity`.
    package var applicationName: String

    package init(
        parameters: [(keyword: String, value: String)], password: (@Sendable () throws -> String)? = nil,
        connections: Int = 4, statementTimeout: Duration = .seconds(5), preparedStatements: Bool = true,
        library: String = "libpq.so.5", applicationName: String = "receipt-bridge"
    ) {
        (self.parameters, self.password) = (parameters, password)
        (self.connections, self.statementTimeout) = (connections, statementTimeout)
        (self.preparedStatements, self.library) = (preparedStatements, library)
        self.applicationName = applicationName
    }
}
