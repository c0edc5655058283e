import ReceiptBridgeComparison
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Line items with two original ids")
struct OriginalIdTests {
    @Test("Planted ids that the App Store Server API does not know are unexpected")
    func planted() throws {
        for number in 0..<30 {
            var fixture = ComparisonFixture()
            fixture.latest[number % 2]["original_transaction_id"] = "7000000000\(10 + number)"
            let differences = try fixture.differences()
            // A subscription without its newest period also contradicts its status.
            #expect(Set(differences.map(\.rule)).subtracting(["originalTransactionId", "entitlement"]) == [])
            #expect(differences.contains { $0.rule == "originalTransactionId" && $0.verdict == .unexpected })
        }
    }

    @Test("The two ids are expected if a transaction in the history has the other one as its own or original id")
    func known() throws {
        var fixture = ComparisonFixture()
        fixture.history[1]["originalTransactionId"] = "777"
        #expect(try fixture.described() == ["expected originalIdAlias latestTransactions[101].originalTransactionId"])
        fixture = ComparisonFixture()
        fixture.latest[0]["original_transaction_id"] = "101"
        #expect(try fixture.described() == ["expected originalIdAlias latestTransactions[100].originalTransactionId"])
    }

    @Test("The two ids are expected if the history was requested with the other one")
    func foundBy() throws {
        var fixture = ComparisonFixture()
        fixture.latest[0]["original_transaction_id"] = "777"
        var serverAPI = try fixture.serverAPI()
        serverAPI.aliases = ["777"]
        let comparison = Comparison(
            verifyReceipt: try fixture.verifyReceipt(), serverAPI: serverAPI, context: fixture.context)
        #expect(comparison.differences.map(\.rule) == ["originalIdAlias"])
    }
}
