import Foundation
import PostgreSQLClient

/// The PostgreSQL server of a test run. `RECEIPT_BRIDGE_TEST_POSTGRESQL` contains parameters of libpq, for example
/// `host=127.0.0.1 port=5433 user=bridge dbname=bridge`.
enum TestDatabase {
    static let parameters: [(keyword: String, value: String)]? = ProcessInfo.processInfo.environment[
        "RECEIPT_BRIDGE_TEST_POSTGRESQL"
    ].map { text in
        text.split(separator: " ").compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1)
            return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
        }
    }

    static var isAvailable: Bool { parameters != nil }

    static func configuration() -> PostgreSQLConfiguration { PostgreSQLConfiguration(parameters: parameters ?? []) }

    static func client() -> PostgreSQLClient { PostgreSQLClient(configuration()) }
}
