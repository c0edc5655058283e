import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("migrate into PostgreSQL")
struct SharedMigrationTests {
    /// The database for tests as the parameters of libpq; `nil` without the variable.
    private static let parameters: [String: String]? = ProcessInfo.processInfo.environment[
        "RECEIPT_BRIDGE_TEST_POSTGRESQL"
    ].map { text in
        Dictionary(
            text.split(separator: " ").compactMap { word -> (String, String)? in
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { $1 })
    }

    /// Tests that need a database are skipped without the variable, which `make test-postgresql` sets.
    private static var hasDatabase: Bool { parameters != nil }
    private static let database: Comment = "needs PostgreSQL: make test-postgresql"

    /// A simulated App Store, a source with its receipts, and a schema for the results.
    private final class Stage: Sendable {
        let fixture: CommandFixture
        let schema: String
        let client: PostgreSQLClient

        init(customers: Int = 24) async throws {
            let parameters = try #require(SharedMigrationTests.parameters)
            fixture = try await CommandFixture(customers: customers, store: nil)
            schema = "migrate_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
            client = PostgreSQLClient(
                PostgreSQLConfiguration(
                    parameters: parameters.map { ($0.key, $0.value) } + [("options", "-csearch_path=\(schema)")],
                    connections: 1))
            try await client.connected(within: .seconds(10))
            try await sql("CREATE SCHEMA \(schema)")
            try await sql("GRANT ALL ON SCHEMA \(schema) TO guarded")
            let genuine = try fixture.folder.lines("receipts.jsonl")
            let hostile = try fixture.folder.lines("hostile.jsonl")
            try write("in.jsonl", genuine + hostile)
            try write("genuine.jsonl", genuine)
        }

        private func write(_ name: String, _ rows: [JSONValue]) throws {
            let lines = rows.enumerated().map { index, row in
                JSONValue(["id": "r\(index)", "receipt": row["receipt"]]).bytes + [0x0A]
            }
            try fixture.folder.write(name, lines.flatMap { $0 })
        }

        var address: String {
            let values = SharedMigrationTests.parameters ?? [:]
            let host = (values["host"] ?? "").replacing("/", with: "%2F")
            return "postgresql://\(values["user"] ?? "")@\(host):\(values["port"] ?? "5432")/\(values["dbname"] ?? "")"
                + "?options=-csearch_path%3D\(schema)"
        }

        @discardableResult
        func sql(_ text: String) async throws -> [PostgreSQLRow] {
            try await client.query(PostgreSQLQuery(text), within: .seconds(30)).rows
        }

        /// - Parameter lease: how long a lease lasts without renewal, in milliseconds.
        func command(_ source: String, _ more: String..., lease: Int = 30_000) -> [String] {
            [
                "migrate", source, "--to", address, "--chunk-bytes", "20000", "--chunk-rows", "7",
                "--lease-milliseconds", "\(lease)", "--config", "receipt-bridge.yaml",
            ] + more
        }

        func results(_ columns: String, where condition: String = "true") async throws -> [String] {
            try await sql("SELECT concat_ws(' ', \(columns)) FROM results WHERE \(condition) ORDER BY id, chunk, row")
                .map { try $0.text(0) }
        }

        func end() async throws {
            try await sql("DROP SCHEMA \(schema) CASCADE")
            await client.close()
            await fixture.stop()
        }
    }

    private static let columns = [
        "id", "digest", "outcome", "reason", "kind", "environment", "bundleId", "repairs", "originalTransactionIds",
        "transactionIds", "unverifiedIds",
    ]

    @Test(
        "The rows of three workers, one of them killed, are those of one process", .enabled(if: hasDatabase, database),
        .timeLimit(.minutes(1)))
    func sameRows() async throws {
        let stage = try await Stage()
        let fixture = stage.fixture
        let alone = try await fixture.run(
            "migrate", "in.jsonl", "--to", "alone.db", "--offline", "--config", "receipt-bridge.yaml")
        #expect(alone.exit == 1, "\(alone.errors)")
        let victim = try fixture.start(stage.command("in.jsonl", "--offline", "--limit", "1000000", lease: 1_500))
        let workers = try (0..<2).map { _ in try fixture.start(stage.command("in.jsonl", "--offline", lease: 1_500)) }
        _ = await eventually(within: .seconds(20)) {
            ((try? await stage.sql("SELECT 1 FROM importChunk WHERE state = 2 LIMIT 1")) ?? []).isEmpty == false
        }
        victim.kill()
        for worker in workers { #expect(await worker.end() == 1, "\(worker.errors)") }
        let shared = try await stage.results(Self.columns.map { "coalesce(\($0), '-')" }.joined(separator: ", "))
        let queue = try DatabaseQueue(path: fixture.folder.path("alone.db"))
        let expected = try await queue.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT \(Self.columns.map { "coalesce(\($0), '-')" }.joined(separator: " || ' ' || "))
                    FROM results ORDER BY id
                    """)
        }
        #expect(shared.sorted() == expected.sorted() && shared.count > 60)
        let twice = try await stage.sql("SELECT 1 FROM results GROUP BY migration, chunk, row HAVING count(*) > 1")
        #expect(twice.isEmpty)
        let again = try await fixture.run(stage.command("in.jsonl", "--offline"))
        #expect(again.exit == 1 && again.errors.contains("refused"), "\(again.errors)")
        try await stage.end()
    }

    @Test(
        "Two workers look up each customer once, and the rows get the columns of a migration into a file",
        .enabled(if: hasDatabase, database), .timeLimit(.minutes(1)))
    func lookups() async throws {
        let stage = try await Stage()
        let fixture = stage.fixture
        let before = try await fixture.calls
        let alone = try await fixture.run(
            "migrate", "genuine.jsonl", "--to", "alone.jsonl", "--with-api", "--config", "receipt-bridge.yaml")
        #expect(alone.exit == 0, "\(alone.errors)")
        let callsAlone = try await fixture.calls - before
        let plan = try await fixture.run(stage.command("genuine.jsonl", "--with-api", "--plan"))
        #expect(plan.exit == 0 && plan.text.contains(" at the full limit, "), "\(plan.errors)")
        #expect(plan.text.contains("; active subscribers after "), "\(plan.text)")
        let planAlone = try await fixture.run(
            "migrate", "genuine.jsonl", "--to", "plan.jsonl", "--with-api", "--plan", "--config", "receipt-bridge.yaml")
        #expect(planAlone.exit == 0 && planAlone.text == plan.text)
        let workers = try (0..<2).map { _ in
            try fixture.start(stage.command("genuine.jsonl", "--with-api", "--active-first"))
        }
        for worker in workers { #expect(await worker.end() == 0, "\(worker.errors)") }
        #expect(try await fixture.calls - before - callsAlone == callsAlone)
        let rows = try fixture.folder.lines("alone.jsonl")
        let expected = rows.map { row in
            let counts = ["transactions", "signedTransactions", "subscriptions"].map {
                "\(row[$0]?.elements?.count ?? 0)"
            }
            return
                ([row["id"]?.text, row["outcome"]?.text, row["revision"]?.text].map { $0 ?? "-" }
                + ["\(row["appAppleId"]?.integer ?? 0)"] + counts).joined(separator: " ")
        }
        let shared = try await stage.results(
            """
            id, outcome, coalesce(revision, '-'), coalesce(appAppleId, 0),
            coalesce(json_array_length(transactions::json), 0),
            coalesce(json_array_length(signedTransactions::json), 0), coalesce(json_array_length(subscriptions::json), 0)
            """)
        #expect(shared.sorted() == expected.sorted())
        let customers = try await stage.sql(
            """
            SELECT count(*), (SELECT count(DISTINCT customer) FROM results), (SELECT sum(rows)::bigint FROM customers),
                (SELECT count(*) FROM results WHERE customer IS NOT NULL)
            FROM customers WHERE outcome = 'migrated' AND identifiers LIKE '["%'
            """)
        #expect(try customers[0].integer(0) == customers[0].integer(1))
        #expect(try customers[0].integer(2) == customers[0].integer(3))
        let flat = try await stage.sql(
            """
            SELECT count(*), count(productId), count(environment), (SELECT count(autoRenewStatus) FROM subscriptions),
                sum(price)::bigint, count(*) FILTER (WHERE isUpgraded)
            FROM transactions
            """)
        let transactions = rows.flatMap { $0["transactions"]?.elements ?? [] }
        let renewals = rows.flatMap { $0["subscriptions"]?.elements ?? [] }.compactMap { $0["renewalInfo"] }
        for column in 0..<3 { #expect(try flat[0].integer(column) == Int64(transactions.count)) }
        #expect(try flat[0].integer(3) == Int64(renewals.count))
        #expect(try flat[0].integer(4) == transactions.reduce(0) { $0 + ($1["price"]?.integer ?? 0) })
        #expect(try flat[0].integer(5) == Int64(transactions.count { $0["isUpgraded"] == .bool(true) }))
        try await stage.end()
    }

    @Test(
        "Shards read their own chunks; another source and other options are rejected until --fresh",
        .enabled(if: hasDatabase, database), .timeLimit(.minutes(1)))
    func shardsAndSources() async throws {
        let stage = try await Stage(customers: 6)
        let fixture = stage.fixture
        let first = try await fixture.run(stage.command("genuine.jsonl", "--offline", "--shard", "1/2"))
        #expect(first.exit == 0, "\(first.errors)")
        #expect(try await stage.results("chunk", where: "chunk % 2 = 1").isEmpty)
        let second = try await fixture.run(stage.command("genuine.jsonl", "--offline", "--shard", "2/2"))
        #expect(second.exit == 0, "\(second.errors)")
        let count = try fixture.folder.lines("genuine.jsonl").count
        #expect(try await stage.results("id").count == count)
        try await stage.sql("DELETE FROM importedRow WHERE row > 1")
        let missing = try await fixture.run(stage.command("genuine.jsonl", "--offline"))
        #expect(
            missing.exit == 1 && missing.errors.contains("rows are missing in the database: retention or forget has"),
            "\(missing.errors)")
        let limited = try await fixture.run(stage.command("in.jsonl", "--offline", "--limit", "1"))
        #expect(limited.exit == 3 && limited.errors.contains("--limit is reached"), "\(limited.errors)")
        let options = try await fixture.run(stage.command("in.jsonl", "--offline", "--id-column", "receipt"))
        #expect(options.exit == 2 && options.errors.contains("--id-column was the default"), "\(options.errors)")
        try fixture.folder.write("genuine.jsonl", #"{"receipt": "AAAA"}"#.utf8)
        let changed = try await fixture.run(stage.command("genuine.jsonl", "--offline"))
        #expect(changed.exit == 2 && changed.errors.contains("is not the source that this run started with"))
        let fresh = try await fixture.run(stage.command("genuine.jsonl", "--offline", "--fresh"))
        #expect(fresh.exit == 1 && fresh.errors.contains("such rows are named #CHUNK.ROW"), "\(fresh.errors)")
        #expect(try await stage.results("id", where: "migration = (SELECT max(id) FROM importRun)") == ["#0.1"])
        try await stage.end()
    }

    @Test("The password comes from a file", .enabled(if: hasDatabase, database), .timeLimit(.minutes(1)))
    func password() async throws {
        let stage = try await Stage(customers: 2)
        let fixture = stage.fixture
        let port = Self.parameters?["port"] ?? ""
        let name = Self.parameters?["dbname"] ?? ""
        let address = "postgresql://guarded@127.0.0.1:\(port)/\(name)?options=-csearch_path%3D\(stage.schema)"
        let arguments = ["migrate", "genuine.jsonl", "--to", address, "--roots", "roots"]
        // A table of another program with the name of a view stays.
        try await stage.sql("CREATE TABLE subscriptions (other bigint)")
        let without = try await Binary.run(Binary.url, arguments, in: fixture.folder)
        #expect(without.exit == 2 && without.errors.contains("no password supplied"), "\(without.errors)")
        let file = try fixture.folder.write("password", "open sesame".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let with = try await Binary.run(
            Binary.url, arguments, in: fixture.folder,
            environment: ["RECEIPT_BRIDGE_DATABASE_PASSWORD_FILE": file])
        #expect(with.exit == 0, "\(with.errors)")
        #expect(try await stage.sql("SELECT count(other) FROM subscriptions").count == 1)
        #expect(try await stage.sql("SELECT id, price FROM transactions").isEmpty)
        try await stage.end()
    }

    @Test(
        "Commands that cannot run exit with 2, or with 3 if the database may be there later",
        arguments: [
            (["in.jsonl", "--to", "postgresql://u:canary@h/d"], 2, "the address contains a password"),
            (["in.jsonl", "--to", "postgresql://h/d"], 2, "the address names no user"),
            (["-", "--to", "postgresql://u@127.0.0.1:1/d"], 2, "several workers cannot share it"),
            (["in.jsonl", "--to", "postgresql://u@127.0.0.1:1/d", "--shard", "5/4"], 2, "--shard: expected I/N"),
        ])
    func unusable(_ arguments: [String], _ code: Int32, _ message: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write("in.jsonl", #"{"receipt": "AAAA"}"#.utf8)
        let outcome = try await Binary.run(Binary.url, ["migrate"] + arguments, in: folder)
        #expect(outcome.exit == code && outcome.errors.contains(message), "\(outcome.errors)")
        #expect(!outcome.errors.contains("canary"))
    }
}
