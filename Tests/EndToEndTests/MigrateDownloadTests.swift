import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("migrate with signed app transactions")
struct MigrateDownloadTests {
    /// A simulated App Store and `in.jsonl`: the signed app transactions of four customers, one of them twice, and an
    /// App Receipt without purchases, which has no id to look up.
    private struct Stage {
        let fixture: CommandFixture
        let customers: [SimulatedCustomer]

        init() async throws {
            fixture = try await CommandFixture(customers: 24)
            customers = Array(fixture.customers().prefix(3) + fixture.customers(.sandbox).prefix(1))
            var lines: [JSONValue] = []
            for (name, customer) in zip(["a", "b", "c", "d", "again"], customers + customers.prefix(1)) {
                let signed = try await fixture.ask("GET", "/customers/\(customer.id)")["signedAppTransaction"]
                lines.append(.object(["id": .string(name), "receipt": signed]))
            }
            let empty = try fixture.folder.lines("receipts.jsonl").first {
                $0["originalTransactionIds"]?.elements?.isEmpty == true
            }
            lines.append(.object(["id": .string("empty"), "receipt": try #require(empty?["receipt"])]))
            try fixture.folder.write("in.jsonl", lines.flatMap { $0.bytes + [0x0A] })
        }

        func migrate(_ words: String...) async throws -> (exit: Int32, rows: [JSONValue], endpoints: [String]) {
            try await fixture.ask("DELETE", "/requests")
            let outcome = try await fixture.run(["migrate", "in.jsonl", "--to", "out.jsonl"] + words)
            let requests = try await fixture.ask("GET", "/requests")["last"]?.elements ?? []
            return (outcome.exit, try fixture.folder.lines("out.jsonl"), requests.compactMap { $0["endpoint"]?.text })
        }

        func fail(_ code: Int64) async throws {
            try await fixture.ask(
                "POST", "/faults",
                .object([
                    "kind": .string("error"), "errorCode": .number(code), "endpoint": .string("appTransactionInfo"),
                ]))
        }
    }

    private static func outcomes(_ rows: [JSONValue]) -> [String?] { rows.map { $0["outcome"]?.text } }

    @Test(
        "A signed app transaction gets the customer's download, with one call for each customer and none without an id")
    func downloads() async throws {
        let stage = try await Stage()
        let run = try await stage.migrate()
        #expect(run.exit == 0)
        let endpoints = Array(repeating: "appTransactionInfo.production", count: 3) + ["appTransactionInfo.sandbox"]
        #expect(run.endpoints.sorted() == endpoints)
        #expect(Self.outcomes(run.rows) == Array(repeating: "migrated", count: 5) + ["noTransactions"])
        for (row, customer) in zip(run.rows, stage.customers + stage.customers.prefix(1)) {
            let download = try #require(row["appTransaction"])
            #expect(download["appTransactionId"]?.text == customer.appTransactionId)
            #expect(download["receiptType"]?.text == customer.environment.rawValue)
            #expect(download["originalApplicationVersion"]?.text == customer.originalApplicationVersion)
            #expect(download["originalPurchaseDate"]?.integer == customer.originalPurchaseDate.milliseconds)
            // Only a device's app transaction has it, so this one is the App Store's.
            #expect(download["deviceVerification"] == nil)
            #expect(row["transactions"]?.elements?.isEmpty == true && row["revision"] == .null)
        }
        #expect(run.rows.last?["appTransaction"] == .null)
        let again = try await stage.migrate()
        #expect(again.exit == 0 && again.endpoints.isEmpty)
        let refreshed = try await stage.migrate("--refresh")
        #expect(refreshed.exit == 0 && refreshed.endpoints.count == 4)
        await stage.fixture.stop()
    }

    @Test(
        "A download that cannot be read is retried by the next run, and an unknown one is not found in either environment"
    )
    func failures() async throws {
        let stage = try await Stage()
        try await stage.fail(4_000_000)
        let failed = try await stage.migrate()
        #expect(failed.exit == 1)
        #expect(Self.outcomes(failed.rows) == Array(repeating: "failed", count: 5) + ["noTransactions"])
        #expect(failed.rows.first?["reason"]?.text == "4000000" && failed.rows.first?["appTransaction"] == .null)
        try await stage.fixture.ask("DELETE", "/faults")
        let resumed = try await stage.migrate()
        #expect(resumed.exit == 0 && resumed.endpoints.count == 4)
        #expect(Self.outcomes(resumed.rows) == Array(repeating: "migrated", count: 5) + ["noTransactions"])
        try await stage.fail(4_040_019)
        let unknown = try await stage.migrate("--fresh")
        #expect(unknown.exit == 1 && unknown.endpoints.count == 8)
        #expect(Self.outcomes(unknown.rows) == Array(repeating: "notFound", count: 5) + ["noTransactions"])
        #expect(unknown.rows.first?["reason"]?.text == "4040019")
        await stage.fixture.stop()
    }

    @Test("Without the Server API, a signed app transaction has nothing to look up")
    func offline() async throws {
        let stage = try await Stage()
        let run = try await stage.migrate("--offline")
        #expect(run.exit == 0 && run.endpoints.isEmpty)
        #expect(Self.outcomes(run.rows) == Array(repeating: "noTransactions", count: 6))
        #expect(run.rows.first?.keys.contains("appTransaction") == false)
        await stage.fixture.stop()
    }
}
