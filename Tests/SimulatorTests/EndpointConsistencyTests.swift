import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

/// That both have the same data about each customer is in ComparisonTests: no rule finds an unexpected difference.
@Suite("verifyReceipt and Server API of the simulator")
struct EndpointConsistencyTests {
    private let store: SimulatedStore

    init() throws { store = try SharedSimulator.allKinds.get() }

    @Test("Every id in a receipt is known to the Server API in its own environment only")
    func identifiers() throws {
        for receipt in store.receipts {
            for transaction in receipt.transactions {
                for id in [transaction.receiptId, transaction.originalTransactionId] {
                    #expect(try store.ask("v1/transactions/\(id)", in: receipt.environment).status == 200)
                    let other: AppStoreEnvironment = receipt.environment == .production ? .sandbox : .production
                    #expect(try store.code("v2/history/\(id)", in: other) == 4_040_010)
                }
            }
        }
    }

    @Test("An upgrade is reported as a cancellation only in worlds with that option")
    func upgrades() throws {
        for isAsked in [false, true] {
            let store = try SharedSimulator.store(options: .init(upgradesAreCancelled: isAsked))
            let customer = try store.customer(.upgraded)
            let answer = try store.verdict(on: try #require(store.receipts(of: customer).first).base64)
            let row = try #require(answer["latest_receipt_info"]?.elements?.first { $0["is_upgraded"] != nil })
            #expect(row["is_upgraded"]?.text == "true")
            #expect((row["cancellation_reason"]?.text == "0") == isAsked)
        }
    }

    @Test("A restored period has one id in receipts and verifyReceipt, and another in the history")
    func restored() throws {
        let customer = try store.customer(.oldRestored)
        let receipt = try #require(store.receipts(of: customer).first)
        let answer = try store.verdict(on: receipt.base64)
        let newest = try #require(customer.transactions.last)
        #expect(answer["receipt"]?["transaction_id"]?.text == newest.restoredId)
        #expect(answer["latest_receipt_info"]?["transaction_id"]?.text == newest.transactionId)
        #expect(
            answer["receipt"]?["web_order_line_item_id"] == answer["latest_receipt_info"]?["web_order_line_item_id"])
    }
}
