import Foundation
import ReceiptBridgeStorage
import Testing

/// The database for tests. Tests that need it are skipped without it.
enum TestDatabase {
    /// The parameters of libpq in `RECEIPT_BRIDGE_TEST_POSTGRESQL`, which `make test-postgresql` sets.
    static let parameters: [String: String]? = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_TEST_POSTGRESQL"]
        .map { text in
            Dictionary(
                text.split(separator: " ").compactMap { word -> (String, String)? in
                    let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                    return parts.count == 2 ? (parts[0], parts[1]) : nil
                }, uniquingKeysWith: { $1 })
        }

    static let need: Comment = "needs PostgreSQL: make test-postgresql"

    /// Returns a name that no other test has.
    static func newSchema() -> String { "test_\(UUID().uuidString.lowercased().replacing("-", with: ""))" }

    static func address(schema: String) throws -> String {
        let values = try #require(parameters)
        let host = (values["host"] ?? "").replacing("/", with: "%2F")
        return "postgresql://\(values["user"] ?? "")@\(host):\(values["port"] ?? "5432")/\(values["dbname"] ?? "")"
            + "?options=-csearch_path%3D\(schema)"
    }

    @discardableResult
    static func run(_ sql: String, schema: String = "public") async throws -> [PostgreSQLRow] {
        let parameters = try #require(parameters).map { ($0.key, $0.value) } + [("options", "-csearch_path=\(schema)")]
        let client = PostgreSQLClient(PostgreSQLConfiguration(parameters: parameters, connections: 1))
        try await client.connected(within: .seconds(10))
        let rows = try await client.query(SQLStatement(sql), within: .seconds(30)).rows
        await client.close()
        return rows
    }
}
