import BridgeConfiguration
import PostgreSQLClient
import Storage

extension PostgreSQLConfiguration {
    /// Combines an address with the keys `database`. Loads libpq to learn its version.
    init(_ address: PostgreSQLAddress, _ database: DatabaseConfiguration) {
        let version = try? PostgreSQLClient.libraryVersion(of: database.library)
        self.init(
            parameters: address.parameters(
                isLibrary16: (version ?? 0) >= 160_000, hasPassword: database.password != nil),
            connections: Int(database.connections), statementTimeout: database.statementTimeout,
            preparedStatements: database.usesPreparedStatements, library: database.library)
        if let source = database.password { password = { try source.password() } }
    }
}
