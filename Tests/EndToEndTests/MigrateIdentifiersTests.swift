import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// Rows that contain transaction ids instead of receipts.
@Suite("migrate with transaction ids", .timeLimit(.minutes(1)))
struct MigrateIdentifiersTests {
    /// What becomes of a row: the outcome with `--with-api --allow-unverified`, and the reason with and without it.
    private struct Row {
        let line: String
        let outcome: String
        let reason: String?
        let strict: String

        init(_ line: String, _ outcome: String, _ reason: String? = nil, strict: String = "needsAllowUnverified") {
            (self.line, self.outcome, self.reason, self.strict) = (line, outcome, reason, strict)
        }
    }

    private static func stored(_ text: String) -> String {
        String(decoding: JSONValue.object(["receipt": .string(text)]).bytes, as: UTF8.self)
    }

    /// Rows of one customer, then others.
    private static func rows(_ known: String, sandbox: String) -> [Row] {
        let local =
            #"{\"transactionId\":\"\#(known)\",\"bundleId\":\"com.example.app\",\"environment\":\"Production\"}"#
        let fake = #"{ \"this\" : \"is a fake receipt\" }"#
        return [
            #"{"verificationData":{"localVerificationData":"\#(local)","serverVerificationData":""}}"#,
            #"{"transactionId":"\#(known)","originalTransactionId":"\#(known)"}"#,
            #"{"transactionReceipt":"","transactionId":"1","originalTransactionIdentifierIOS":"\#(known)"}"#,
            #"{"receipt":{"bundle_id":"com.example.app","in_app":[{"original_transaction_id":\#(known)}]}}"#,
            #"{"Store":"AppleAppStore","TransactionID":"\#(known)","Payload":"\#(fake)"}"#,
            #"{"type":"ios-appstore","id":"\#(known)"}"#, known, "\"\(known)\"", " '\(known)'\n", "[\"\(known)\"]",
        ].map { Row(stored($0), "migrated") } + [
            Row(#"{"receipt":\#(known)}"#, "migrated"), Row(#"{"receipt":\#(known).0}"#, "migrated"),
            Row(#"{"receipt":null,"original_transaction_id":"\#(known)"}"#, "migrated"),
            Row(#"{"original_transaction_id":"\#(known)"}"#, "migrated"),
            Row(#"{"receipt":{"transactionId":"\#(known)"}}"#, "migrated"),
            Row(stored(#"{"transactionId":"\#(known)","environment":"Sandbox"}"#), "migrated"),
            Row(stored(sandbox), "migrated"), Row(stored("999999999999999"), "notFound", "notFound"),
            Row(
                stored(#"{"transactionId":"\#(known)","bundleId":"com.example.other"}"#), "refused", "anotherApp"),
            Row(stored("7.30000000000061E+14"), "refused", "roundedId", strict: "roundedId"),
            Row(
                stored(#"{"transactionId":"\#(known)","environment":"Xcode"}"#), "refused", "xcodeReceipt",
                strict: "xcodeReceipt"),
            Row(stored("GPA.3345-1234-5678-90123"), "refused", "notAReceipt", strict: "notAReceipt"),
            Row(
                stored("6f1c9a9e-1111-4a1b-8a1b-0123456789ab"), "refused", "notAReceipt", strict: "notAReceipt"),
            Row(#"{"receipt":null,"user":"7"}"#, "refused", "empty", strict: "empty"),
        ]
    }

    private func write(_ lines: [String], to fixture: CommandFixture) throws {
        try fixture.folder.write("in.jsonl", lines.flatMap { Array($0.utf8) + [0x0A] })
    }

    private func anId(_ fixture: CommandFixture, _ environment: AppStoreEnvironment) throws -> String {
        try #require(fixture.customers(environment).first { !$0.renewals.isEmpty }?.renewals.first)
            .originalTransactionId
    }

    private func histories(_ fixture: CommandFixture, _ environment: String) async throws -> Int {
        try await fixture.ask("GET", "/requests")["last"]?.elements?
            .count { $0["endpoint"]?.text == "history.\(environment)" } ?? -1
    }

    @Test("Ids are looked up with both flags, once for each customer, and are refused by name without them")
    func outcomes() async throws {
        let fixture = try await CommandFixture(store: nil)
        let sandbox = try anId(fixture, .sandbox)
        let rows = Self.rows(try anId(fixture, .production), sandbox: sandbox)
        try write(rows.map(\.line), to: fixture)
        try await fixture.ask("DELETE", "/requests")
        let words = ["migrate", "in.jsonl", "--with-api", "--to"]
        let lenient = try await fixture.run(words + ["lenient.jsonl", "--allow-unverified", "--workers", "1"])
        #expect(lenient.exit == 1, "\(lenient.errors)")
        // One customer is in production, one in the sandbox, and one in neither.
        #expect(try await histories(fixture, "production") == 3)
        #expect(try await histories(fixture, "sandbox") == 2)
        let results = try fixture.folder.lines("lenient.jsonl")
        for (row, result) in zip(rows, results) {
            #expect(result["outcome"]?.text == row.outcome && result["reason"]?.text == row.reason, "\(row.line)")
            #expect(result["verified"] == .bool(false) && result["digest"] == .null, "\(row.line)")
            let isKnown = row.outcome == "migrated"
            #expect((result["transactions"]?.elements?.isEmpty == false) == isKnown, "\(row.line)")
            let environment = row.line.contains(sandbox) ? "Sandbox" : "Production"
            #expect(!isKnown || result["environment"]?.text == environment, "\(row.line)")
        }
        let calls = try await fixture.calls
        let strict = try await fixture.run(words + ["strict.jsonl"])
        #expect(strict.exit == 1, "\(strict.errors)")
        let filter = try await Binary.run(
            Binary.url, ["migrate", "-", "--to", "-"],
            input: Array(try Data(contentsOf: fixture.folder.url.appending(path: "in.jsonl"))), in: fixture.folder)
        for (name, results) in [("strict", try fixture.folder.lines("strict.jsonl")), ("filter", filter.lines)] {
            #expect(results.map { $0["reason"]?.text } == rows.map(\.strict), "\(name)")
            #expect(
                results.allSatisfy { $0["outcome"]?.text == "refused" && $0["verified"] == .bool(false) }, "\(name)")
            let withIds = results.count { $0["unverifiedIds"]?.elements?.isEmpty == false }
            #expect(withIds == rows.count { $0.strict == "needsAllowUnverified" || $0.strict == "xcodeReceipt" })
        }
        #expect(try await fixture.calls == calls)
        await fixture.stop()
    }

    @Test(
        "A column of ids is looked up, and suggested where there is no receipt", arguments: ["csv", "jsonl", "sqlite"])
    func column(format: String) async throws {
        let fixture = try await CommandFixture(store: nil)
        let known = try anId(fixture, .production)
        let receipt = try fixture.folder.lines("receipts.jsonl").first { $0["environment"]?.text == "Production" }
        let values = [("a", "", known), ("b", try #require(receipt?["receipt"]?.text), "1"), ("c", "x", known)]
        switch format {
        case "csv":
            let lines = values.map { "\($0.0),\($0.1),\($0.2)\n" }.joined()
            try fixture.folder.write("in.csv", "id,stored,original_id\n\(lines)".utf8)
        case "jsonl":
            let lines = values.map { #"{"id":"\#($0.0)","stored":"\#($0.1)","original_id":\#($0.2)}"# + "\n" }.joined()
            try fixture.folder.write("in.jsonl", lines.utf8)
        default:
            let rows = values.map { "('\($0.0)', '\($0.1)', \($0.2))" }.joined(separator: ", ")
            try fixture.folder.write(
                "in.sql", "CREATE TABLE t (id, stored, original_id); INSERT INTO t VALUES \(rows);".utf8)
            let made = try await Binary.run(
                URL(filePath: "/usr/bin/env"),
                ["python3", "-c", "import sqlite3; sqlite3.connect('in.sqlite').executescript(open('in.sql').read())"],
                in: fixture.folder)
            try #require(made.exit == 0, "\(made.errors)")
        }
        let words = ["migrate", "in.\(format)", "--with-api", "--allow-unverified", "--to"]
        if format != "jsonl" {
            let hint = "the values of original_id look like transaction ids: use --transaction-id-column original_id"
            let columns = "id,original_id\n1,\(known)\n"
            try fixture.folder.write("ids.csv", columns.utf8)
            try await fixture.expectRefusal(["migrate", "ids.csv", "--to", "ids.jsonl"], hint)
        }
        let outcome = try await fixture.run(
            words + ["out.jsonl", "--transaction-id-column", "original_id", "--receipt-column", "stored"])
        #expect(outcome.exit == 0, "\(outcome.errors)")
        let results = try fixture.folder.lines("out.jsonl")
        #expect(results.map { $0["outcome"]?.text } == ["migrated", "migrated", "migrated"])
        #expect(results.map { $0["verified"] } == [.bool(false), .bool(true), .bool(false)])
        #expect(results.map { $0["unverifiedIds"]?.elements?.map(\.text) } == [[known], ["1"], [known]])
        await fixture.stop()
    }

    @Test("With several apps, the app of ids that name none must be named, and a plan counts customers without calls")
    func apps() async throws {
        let fixture = try await CommandFixture(store: nil)
        let known = try anId(fixture, .production)
        try write([Self.stored(known), Self.stored("[\"\(known)\"]"), Self.stored("999999999999999")], to: fixture)
        let words = ["migrate", "in.jsonl", "--with-api", "--allow-unverified", "--to"]
        let plan = try await fixture.run(words + ["plan.jsonl", "--plan", "--json"])
        #expect(plan.lines.first?["customers"]?["waiting"]?.integer == 2, "\(plan.text) \(plan.errors)")
        #expect(try await fixture.calls == 0)
        let second = try fixture.configuration().replacing(
            "bundleId: com.example.app", with: "bundleId: com.example.second")
        let apps = try #require(second.split(separator: "apps:", maxSplits: 1).last)
        try fixture.folder.write("two.yaml", (try fixture.configuration() + apps).utf8)
        for (options, outcomes) in [
            ([], ["refused", "refused", "refused"]),
            (["--bundle-id", "com.example.app"], ["migrated", "migrated", "notFound"]),
        ] {
            let run = try await fixture.run(words + ["two.jsonl", "--fresh", "--config", "two.yaml"] + options)
            #expect(run.exit == 1, "\(run.errors)")
            #expect(try fixture.folder.lines("two.jsonl").map { $0["outcome"]?.text } == outcomes)
        }
        try await fixture.expectRefusal(
            words + ["a.jsonl", "--bundle-id", "com.example.other"], "com.example.other is not configured")
        await fixture.stop()
    }

    @Test("A customer with a receipt in one row and ids in others is looked up once")
    func mixed() async throws {
        let fixture = try await CommandFixture(store: nil)
        let customer = try #require(fixture.customers().first { !$0.renewals.isEmpty && !$0.receipts.isEmpty })
        let receipt = try fixture.folder.lines("receipts.jsonl").first { $0["id"]?.text == customer.receipts[0].id }
        let known = customer.renewals[0].originalTransactionId
        let last = try #require(customer.transactions.last { $0.originalTransactionId == known }).transactionId
        let text = try #require(receipt?["receipt"]?.text)
        try write([Self.stored(last), Self.stored(known), Self.stored(text), Self.stored(known)], to: fixture)
        try await fixture.ask("DELETE", "/requests")
        let outcome = try await fixture.run(
            "migrate", "in.jsonl", "--to", "out.jsonl", "--with-api", "--allow-unverified")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(try await histories(fixture, "production") == 1)
        let results = try fixture.folder.lines("out.jsonl")
        #expect(results.map { $0["outcome"]?.text } == Array(repeating: "migrated", count: 4))
        #expect(results.map { $0["verified"] } == [.bool(false), .bool(false), .bool(true), .bool(false)])
        #expect(Set(results.map { $0["transactions"]?.bytes }).count == 1)
        await fixture.stop()
    }

    @Test("Many rows of ids cost the calls of one row for each customer")
    func shared() async throws {
        let fixture = try await CommandFixture(customers: TestSize.pick(debug: 24, release: 60), store: nil)
        let subscribers = (fixture.customers() + fixture.customers(.sandbox)).filter { !$0.renewals.isEmpty }
        let ids = subscribers.map { $0.renewals[0].originalTransactionId }
        func line(_ index: Int, _ id: String) -> String {
            let forms = [
                id, "\"\(id)\"", "[\(id)]", #"{"original_transaction_id":\#(id)}"#,
                #"{"transactionId":"\#(index + 1)","originalTransactionId":"\#(id)","environment":"Sandbox"}"#,
                #"{"receipt":{"in_app":[{"original_transaction_id":\#(id)}]},"status":0}"#,
            ]
            return Self.stored(forms[index % forms.count])
        }
        func run(_ count: Int, _ name: String) async throws -> Int {
            try write((0..<count).map { line($0, ids[$0 % ids.count]) }, to: fixture)
            let before = fixture.appStore.requests.total
            let outcome = try await fixture.run(
                "migrate", "in.jsonl", "--to", name, "--with-api", "--allow-unverified", "--workers", "1")
            #expect(outcome.exit == 0, "\(outcome.errors)")
            let results = try fixture.folder.lines(name)
            #expect(results.count == count && results.allSatisfy { $0["outcome"]?.text == "migrated" })
            return fixture.appStore.requests.total - before
        }
        let single = try await run(ids.count, "single.jsonl")
        #expect(try await run(TestSize.pick(debug: 150, release: 2_000), "whole.jsonl") == single)
        await fixture.stop()
    }

    @Test("lookup --ids prints a line for each customer of a list, and says why there is none")
    func list() async throws {
        let fixture = try await CommandFixture(store: nil)
        let (known, sandbox) = (try anId(fixture, .production), try anId(fixture, .sandbox))
        let lines = [
            known, "", "  \(known)\r", #"{"original_transaction_id":\#(sandbox)}"#, "999999999999999", "x y", "7.3E+14",
            #"{"transactionId":"7","bundleId":"com.example.other"}"#,
        ]
        try fixture.folder.write("ids.txt", lines.joined(separator: "\n").utf8)
        let outcome = try await fixture.run("lookup", "--ids", "ids.txt", "--budget", "1")
        #expect(outcome.exit == 1 && outcome.errors.contains("6 of 6 ids: 4 without success"), "\(outcome.errors)")
        try #require(outcome.lines.count == 6, "\(outcome.text)")
        #expect(
            outcome.lines.map { $0["transactionId"]?.text } == [
                known, sandbox, "999999999999999", "x y", "7.3E+14", "7",
            ])
        #expect(outcome.lines.map { $0["environment"]?.text } == ["Production", "Sandbox", nil, nil, nil, nil])
        #expect(
            outcome.lines.map { $0["code"]?.text } == [
                nil, nil, "transactionNotFound", "malformedTransactionId", "roundedId", "anotherApp",
            ])
        let single = try #require(try await fixture.run("lookup", known).lines.first)
        #expect(outcome.lines[0].keys == ["transactionId"] + single.keys)
        #expect(outcome.lines[0]["transactions"]?.elements?.count == single["transactions"]?.elements?.count)
        for (words, reason) in [
            (["lookup"], "specify one transaction id, or --ids"),
            (["lookup", known, "--ids", "ids.txt"], "specify one transaction id, or --ids"),
            (
                ["lookup", "--ids", "ids.txt", "--bundle-id", "com.example.other"],
                "com.example.other is not configured"
            ),
        ] { try await fixture.expectRefusal(words, reason) }
        await fixture.stop()
    }
}
