import Simulator
import TestSupport
import Testing

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
        #expect(
            line["transactions"]?.elements?.compactMap { $0["transactionId"]?.text } == [purchase.transactionId])
        #expect(line["signedTransactions"]?.elements?.first?.text?.hasPrefix("eyJ") == true)

        let unknown = try await stage.run("orders", "lookup", "MNOTHING")
        #expect(unknown.exit == 1 && unknown.errors.contains("no such order"), "\(unknown.errors)")
        #expect(unknown.lines.first?["status"]?.integer == 1)
        try await stage.expectRefusal(
            ["orders", "lookup", purchase.orderId, "--environment", "sandbox"], "the sandbox has no orders")
        try await stage.expectRefusal(["orders", "lookup", ".."], "invalidIdentifier")
        try await stage.expectRefusal(
            ["orders", "lookup", "M1", "--bundle-id", "com.example.other"], "com.example.other is not configured")
        await stage.stop()
    }
}
