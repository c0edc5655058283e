import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

extension SimulatedCustomer {
    /// The ids of the consumables that were refunded.
    var refundedConsumables: Set<String> {
        Set(transactions.filter { $0.product.kind == .consumable && $0.revocation != nil }.map(\.transactionId))
    }
}

@Suite("Refunded consumables")
struct RefundedConsumableTests {
    private typealias Policy = AppConfiguration.RefundedConsumables

    /// The transaction ids in a list of a response.
    private func ids(_ list: Any?) -> [String] {
        (list as? [[String: Any]] ?? []).compactMap { $0["transaction_id"] as? String }
    }

    @Test(
        "api and stored leave out the rows of refunded consumables, or keep them, and change no other row",
        arguments: [[AnswerSource.api], [.stored, .api]])
    func world(answer: [AnswerSource]) async throws {
        try await ServerAPIWorld.asking(customers: 84) { appStore, world in
            let folder = try TemporaryFolder()
            var dropped = 0
            for receipt in appStore.receipts where !receipt.originalTransactionIds.isEmpty {
                let refunded = receipt.customer.refundedConsumables
                let isConsumer = receipt.customer.transactions.contains { $0.product.kind == .consumable }
                guard isConsumer else { continue }
                let body = Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret)
                var rows: [Policy: [String]] = [:]
                for policy in Policy.allCases {
                    let store = try SQLiteStore(path: folder.path("\(receipt.id) \(policy).sqlite"))
                    let graph = try world.graph(answer, store: store) { $1.refundedConsumables = policy }
                    let service = graph.verifyReceipt
                    var reply = await service.answer(body: body, route: .auto)
                    if answer.first == .stored {
                        await graph.finishWriting()
                        reply = await service.answer(body: body, route: .auto)
                    }
                    #expect(reply.source == answer.first)
                    #expect(reply.consumables.refunded == refunded)
                    let json = try #require(
                        try JSONSerialization.jsonObject(with: Data(reply.answer.body)) as? [String: Any])
                    rows[policy] =
                        ids((json["receipt"] as? [String: Any])?["in_app"]) + ids(json["latest_receipt_info"])
                    await store.close()
                }
                let kept = try #require(rows[.keep])
                #expect(rows[.drop] == kept.filter { !refunded.contains($0) }, "\(receipt.id)")
                dropped += kept.count { refunded.contains($0) }
            }
            #expect(dropped > 0)
        }
    }

    @Test("A reversed refund brings the row back, and the source receipt never drops a row")
    func reversal() async throws {
        let appStore = ScriptedCustomer()
        let coins = "700000000000900"
        appStore.update { world in
            world.purchases.append(
                ScriptedCustomer.Purchase(
                    id: coins, original: coins, product: "com.example.app.coins", type: "Consumable",
                    purchased: SharedSimulator.noon.advanced(by: .seconds(-1000)),
                    revoked: SharedSimulator.noon, group: nil))
        }
        let receipt = try appStore.receipt(of: 4)
        let bridge = try StoringTestProxy([.api], appStore: appStore) { $0.cacheSeconds = 0 }
        #expect(await !bridge.ask(receipt).body.contains(coins))
        #expect(try await StoringTestProxy([.receipt], appStore: appStore).ask(receipt).body.contains(coins))
        appStore.change(coins) { $0.revoked = nil }
        #expect(await bridge.ask(receipt).body.contains(coins))
    }
}
