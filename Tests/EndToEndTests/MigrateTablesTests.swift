import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Flat tables of migrate")
struct MigrateTablesTests {
    @Test("Views and files have a row for each transaction and subscription of a row, with the members as columns")
    func tables() async throws {
        let fixture = try await CommandFixture(customers: 24, store: nil)
        let folder = fixture.folder
        let command = ["migrate", "receipts.jsonl", "--to", "out.sqlite"]
        let outcome = try await fixture.run(command + ["--transactions", "transactions.jsonl"])
        #expect(outcome.exit == 0, "\(outcome.errors)")
        let places = "the results are in out.sqlite (also as transactions and subscriptions), the transactions in"
        #expect(outcome.errors.contains("receipt-bridge: \(places) transactions.jsonl\n"), "\(outcome.errors)")
        // A complete migration writes them too, without a call.
        let calls = try await fixture.calls
        let again = try await fixture.run(
            command + ["--transactions", "transactions.csv", "--subscriptions", "subscriptions.jsonl"])
        #expect(again.exit == 0, "\(again.errors)")
        #expect(try await fixture.calls == calls)

        let database = try DatabaseQueue(path: folder.path("out.sqlite"))
        for (name, renewal) in [("transactions", nil), ("subscriptions", "renewalInfo")] {
            let results = try database.read {
                try Row.fetchAll($0, sql: "SELECT id, bundleId, \(name) AS elements FROM results ORDER BY rowid")
            }
            let elements = try results.flatMap { result -> [(result: Row, element: JSONValue)] in
                let text: String = result["elements"] ?? "[]"
                return try JSONValue(reading: Array(text.utf8)).elements?.map { (result, $0) } ?? []
            }
            let (lines, view) = (
                try folder.lines("\(name).jsonl"),
                try database.read { try Row.fetchAll($0, sql: "SELECT * FROM \(name)") }
            )
            #expect(elements.count > 20 && lines.count == elements.count && view.count == elements.count)
            var used: Set<String> = []
            for ((result, element), (line, row)) in zip(elements, zip(lines, view)) {
                #expect(line["id"]?.text == result["id"] as String)
                for (column, value) in row where column != "id" {
                    var expected = element[column]
                    if let renewal, expected == nil { expected = element[renewal]?[column] }
                    if name == "subscriptions", column == "bundleId" { expected = .string(result["bundleId"]) }
                    if expected != nil { used.insert(column) }
                    #expect(line[column] == expected ?? .null, "\(column)")
                    #expect(Self.isSame(value, line[column]), "\(column): \(value)")
                }
            }
            #expect(
                used.isSuperset(of: ["environment", "bundleId", "originalTransactionId", "productId", "expiresDate"]))
            #expect(used.isSuperset(of: name == "transactions" ? ["price", "revocationDate"] : ["autoRenewStatus"]))
            guard name == "transactions" else { continue }
            let records = try folder.text("transactions.csv").split(separator: "\r\n")
            #expect(records.count == lines.count + 1)
            #expect(records.first.map(String.init) == view.first.map { $0.columnNames.joined(separator: ",") })
        }
        await fixture.stop()
    }

    private static func isSame(_ value: DatabaseValue, _ json: JSONValue?) -> Bool {
        switch value.storage {
        case .null: json == .null
        case .int64(let number): json?.integer == number || json == .bool(number == 1)
        case .string(let text): json?.text == text
        case .double, .blob: false
        }
    }

    @Test("Flat tables need a known kind of file and a name of their own")
    func refused() async throws {
        let folder = try TemporaryFolder()
        try folder.write("in.csv", "id,receipt\na,\nb,NULL\nc,x\n")
        let outcome = try await Binary.run("migrate", "in.csv", "--to", "out.jsonl", "--offline", in: folder)
        // The summary has the reasons below their outcome; the last lines say where the result is and what is next.
        #expect(
            outcome.exit == 1
                && outcome.errors == """
                    refused      3
                      empty      2
                      notBase64  1
                    rows         3
                    receipt-bridge: the results are in out.jsonl
                    receipt-bridge: hint: --report refused.html lists the refused rows

                    """
        )
        let fixture = try await CommandFixture(customers: 2, store: nil)
        let command = ["migrate", "receipts.jsonl", "--to", "out.jsonl"]
        for (path, reason) in [
            ("t.txt", "t.txt: the name must end in .csv or .jsonl (unknownKind)"), ("out.jsonl", "two files"),
            ("receipts.jsonl", "two files"),
        ] {
            try await fixture.expectRefusal(command + ["--subscriptions", path], reason)
        }
        await fixture.stop()
    }
}
