import Foundation
import ReceiptBridgeStorage
import Testing

/// The PostgreSQL server of a test run, see `Tests/Scripts/support/postgresql.sh`.
enum TestDatabase {
    /// Parameters of libpq, for example `host=127.0.0.1 port=5433 user=bridge dbname=bridge`.
    static let parameters = parameters(of: "RECEIPT_BRIDGE_TEST_POSTGRESQL")
    /// The same for PgBouncer in transaction mode.
    static let pooler = parameters(of: "RECEIPT_BRIDGE_TEST_PGBOUNCER")
    /// A program that stops, starts, pauses and resumes the server.
    static let control = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_TEST_POSTGRESQL_CONTROL"]

    static var isAvailable: Bool { parameters != nil }

    /// The configuration for the server, with some parameters replaced.
    static func configuration(
        _ replaced: KeyValuePairs<String, String> = [:], connections: Int = 4
    ) -> PostgreSQLConfiguration {
        let parameters = (parameters ?? []).filter { parameter in
            !replaced.contains { $0.key == parameter.keyword }
        }
        return PostgreSQLConfiguration(
            parameters: parameters + replaced.map { ($0.key, $0.value) }, connections: connections)
    }

    static func client() -> PostgreSQLClient { PostgreSQLClient(configuration()) }

    /// Runs the control program. Foundation's `Process` would wait for the server, too, which the program starts.
    static func control(_ command: String) throws {
        let program = try #require(control)
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(command), nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        try #require(posix_spawn(&process, program, nil, nil, arguments, environ) == 0)
        var status: CInt = 0
        waitpid(process, &status, 0)
        try #require(status == 0)
    }

    private static func parameters(of variable: String) -> [(keyword: String, value: String)]? {
        ProcessInfo.processInfo.environment[variable].map { text in
            text.split(separator: " ").compactMap { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }
        }
    }
}

/// Returns the error of a call, or `nil` if it succeeded.
func failure(_ body: () async throws -> Void) async -> PostgreSQLError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgreSQLError ?? PostgreSQLError(.failed, "\(error)")
    }
}

/// Repeats a query until it succeeds. Returns false if it does not within the limit.
func succeeds(_ client: PostgreSQLClient, within limit: Duration) async -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if await failure({ _ = try await client.query("SELECT 1") }) == nil { return true }
        try? await Task.sleep(for: .milliseconds(20))
    }
    return false
}

extension SQLStatement: ExpressibleByStringLiteral {
    public init(stringLiteral sql: String) { self.init(sql) }
}
