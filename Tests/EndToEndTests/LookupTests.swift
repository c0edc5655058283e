import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("lookup")
struct LookupTests {
    @Test("lookup prints a customer's view on one line, and exits with 1 for an unknown customer, 2 for a usage error")
    func lookup() async throws {
        let stage = try await CommandFixture(customers: 2, store: nil)
        let receipt = try #require(try stage.folder.lines("receipts.jsonl").first)
        let id = try #require(receipt["originalTransactionIds"]?.elements?.first?.text)
        let found = try await stage.run("lookup", id)
        #expect(found.exit == 0 && found.errors.isEmpty, "\(found.errors)")
        #expect(found.text.hasSuffix("}\n") && found.text.split(separator: "\n").count == 1)
        let view = try JSONValue(reading: Array(found.text.utf8))
        #expect(view["source"]?.text == "api" && view["environment"]?.text == receipt["environment"]?.text)
        #expect(view["transactions"]?.elements?.contains { $0["originalTransactionId"]?.text == id } == true)

        try await stage.expectRefusal(["lookup", "0"], "malformedTransactionId")
        try await stage.expectRefusal(["lookup", "../"], "malformedTransactionId")
        try await stage.expectRefusal(["lookup"], "specify one transaction id, or --ids")
        try await stage.expectRefusal(
            ["lookup", id, "--bundle-id", "com.example.other"], "is not configured (configured: com.example.app)")
        let unknown = try await stage.run("lookup", "1")
        #expect(unknown.exit == 1 && unknown.errors.contains("transactionNotFound") && unknown.output.isEmpty)
        let unconfigured = try await Binary.run("lookup", id, in: TemporaryFolder())
        #expect(unconfigured.exit == 2 && unconfigured.errors.contains("unknownApp") && unconfigured.output.isEmpty)
    }
}

@Suite("orders lookup")
struct OrderTests {
    @Test(
        "orders lookup prints the purchases of an order, exits with 1 for an unknown order, and does not ask the sandbox"
    )
    func lookup() async throws {
        let stage = try await CommandFixture(customers: 4, store: nil)
        let purchase = try #require(stage.customers().flatMap(\.transactions).first)
        let found = try await stage.run("orders", "lookup", purchase.orderId)
        #expect(found.exit == 0 && found.errors.isEmpty, "\(found.errors)")
        let line = try #require(found.lines.first)
        #expect(line.keys == ["orderId", "status", "transactions", "signedTransactions"])
        #expect(line["orderId"]?.text == purchase.orderId && line["status"]?.integer == 0)
        #expect(line["transactions"]?.elements?.compactMap { $0["transactionId"]?.text } == [purchase.transactionId])
        #expect(line["signedTransactions"]?.elements?.first?.text?.hasPrefix("eyJ") == true)

        let unknown = try await stage.run("orders", "lookup", "MNOTHING", exit: 1, says: "no such order")
        #expect(unknown.lines.first?["status"]?.integer == 1)
        try await stage.expectRefusal(
            ["orders", "lookup", purchase.orderId, "--environment", "sandbox"], "the sandbox has no orders")
        try await stage.expectRefusal(["orders", "lookup", ".."], "1 to 64 letters and digits")
        try await stage.expectRefusal(
            ["orders", "lookup", "M1", "--bundle-id", "com.example.other"], "com.example.other is not configured")
    }
}
