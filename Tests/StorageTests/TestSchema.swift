import Foundation
import ReceiptBridgeStorage
import Testing

/// A schema of the test database. It is dropped when the object is released.
final class TestSchema: Sendable {
    let name: String
    /// Connects to the database, with this schema as the only one.
    let configuration: PostgreSQLConfiguration

    /// The database for tests, as the keywords and values of libpq. Example:
    /// `host=/tmp/cluster port=5433 user=bridge dbname=bridge`.
    static var database: String? { ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_TEST_POSTGRESQL"] }

    private static func parameters() throws -> [(keyword: String, value: String)] {
        try #require(database).split(separator: " ").compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
    }

    init() async throws {
        name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        configuration = PostgreSQLConfiguration(
            parameters: try Self.parameters() + [("options", "-csearch_path=\(name)")], applicationName: name)
        try await Self.run("CREATE SCHEMA \(name)")
    }

    deinit {
        Task.detached { [name] in try await Self.run("DROP SCHEMA IF EXISTS \(name) CASCADE") }
    }

    /// Returns the number of deadlocks in the whole database.
    func deadlocks() async throws -> Int64 {
        let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        return try await Self.run(sql).rows.first?.integer(0) ?? 0
    }

    /// Runs one statement in this schema, on a connection of its own.
    @discardableResult
    func run(_ sql: String) async throws -> PostgreSQLResult {
        let client = PostgreSQLClient(configuration)
        let result = try await client.query(SQLStatement(sql))
        await client.close()
        return result
    }

    /// Ends all connections to this schema, as a restart of the server does.
    func endConnections() async throws {
        try await Self.run(
            "SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity WHERE application_name = '\(name)'")
    }

    @discardableResult
    private static func run(_ sql: String) async throws -> PostgreSQLResult {
        let client = PostgreSQLClient(PostgreSQLConfiguration(parameters: try parameters(), connections: 1))
        let result = try await client.query(SQLStatement(sql), within: .seconds(60))
        await client.close()
        return result
    }
}
