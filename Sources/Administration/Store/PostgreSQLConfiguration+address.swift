import BridgeConfiguration
import PostgreSQLClient
import Storage

extension PostgreSQLConfiguration {
    /// The version from which libpq can use the system's list of roots by `sslrootcert=system`.
    private static let firstVersionWithSystemRoots = 160_000

    /// Combines an address with the keys `database`. Loads libpq to learn its version.
    init(_ address: PostgreSQLAddress, _ database: DatabaseConfiguration) {
        let version = try? PostgreSQLClient.libraryVersion(of: database.library)
        self.init(
            parameters: address.parameters(hasSystemRoots: (version ?? 0) >= Self.firstVersionWithSystemRoots),
            connections: Int(database.connections), statementTimeout: database.statementTimeout,
            preparedStatements: database.usesPreparedStatements, library: database.library)
        if let source = database.password { password = { try source.password() } }
    }
}
