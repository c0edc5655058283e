import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Observations from Apple's responses")
struct UpstreamObservationsTests {
    private func bridge(_ bodies: [String]) throws -> TestProxy {
        try TestProxy(ScriptedAppStore { $0.index < bodies.count ? .body(bodies[$0.index]) : .http(503) }) {
            $1.answer = [.apple, .receipt]
        }
    }

    private func answer(_ row: String) -> String {
        "{\"status\":0,\"receipt\":{},\"latest_receipt_info\":[{\(row)}]}"
    }

    @Test("A refund in Apple's response is applied to later local responses until it is reversed")
    func refunds() async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.transactionId)
        let refunded = answer(
            "\"transaction_id\":\"\(id)\",\"cancellation_date\":\"2026-11-20 00:00:00 Etc/GMT\","
                + "\"cancellation_date_ms\":\"1795132800586\",\"cancellation_reason\":\"1\"")
        let after = try bridge([refunded])
        #expect(await after.ask(receipt.base64).source == .apple)
        let reply = await after.ask(receipt.base64)
        #expect(reply.source == .receipt)
        let row = reply.json?["receipt"]?["in_app"]?.elements?.first { $0["transaction_id"]?.text == id }
        #expect(row?["cancellation_date_ms"]?.text == "1795132800586")
        #expect(row?["cancellation_reason"]?.text == "1")

        let undone = try bridge([refunded, answer("\"transaction_id\":\"\(id)\"")])
        for _ in 0..<2 { #expect(await undone.ask(receipt.base64).source == .apple) }
        #expect(await undone.ask(receipt.base64).text.contains("cancellation_date") == false)
    }

    @Test("The last row of a purchase in a response counts, because in_app is as old as the receipt")
    func lastRow() async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.transactionId)
        let old = "{\"transaction_id\":\"\(id)\",\"cancellation_date_ms\":\"1795132800586\"}"
        let bridge = try bridge([
            "{\"status\":0,\"receipt\":{\"in_app\":[\(old)]},\"latest_receipt_info\":[{\"transaction_id\":\"\(id)\"}]}"
        ])
        #expect(await bridge.ask(receipt.base64).source == .apple)
        let reply = await bridge.ask(receipt.base64)
        #expect(reply.source == .receipt && !reply.text.contains("cancellation_date"))
    }

    @Test("Identifiers that Apple named for a receipt without purchases are used for lookups when Apple is unavailable")
    func identifiers() async throws {
        try await ServerAPIWorld.asking { store, world in
            let pipeline = try world.pipeline([.apple, .api, .receipt])
            let id = try #require(store.customer(.activeSubscription).transactions.last?.originalTransactionId)
            let receipt = try #require(
                store.receipts.first { $0.originalTransactionIds.isEmpty && $0.environment == .production })
            let body = Question.body(receipt.base64)
            store.faults.add(
                SimulatedFault(
                    .body(
                        "{\"status\":0,\"receipt\":{},\"latest_receipt_info\":[{\"original_transaction_id\":\"\(id)\"}]}"
                    ),
                    times: 1))
            #expect(await pipeline.answer(body: body, route: .auto).source == .apple)
            store.faults.add(SimulatedFault(.status(503)))
            let reply = await pipeline.answer(body: body, route: .auto)
            #expect(reply.source == .api)
            let rows = try JSONValue(reading: reply.answer.body)["latest_receipt_info"]?.elements ?? []
            #expect(rows.contains { $0["original_transaction_id"]?.text == id })
            let other = try world.pipeline([.apple, .api, .receipt])
            #expect(await other.answer(body: body, route: .auto).source == .receipt)
        }
    }

    @Test("A refund invalidates cached Server API records, and is still applied when no upstream is available")
    func refundAfterLookup() async throws {
        try await ServerAPIWorld.asking { store, world in
            let clock = MovableClock()
            let pipeline = try world.pipeline([.apple, .api, .receipt], clock: clock)
            // A refund of a renewal, whose transaction id differs from its original transaction id.
            let receipt = try store.receipt(.activeSubscription)
            let bought = try #require(
                receipt.transactions.last { $0.isAutoRenewable && $0.transactionId != $0.originalTransactionId })
            let body = Question.body(receipt.base64)
            func ask() async throws -> (source: AnswerSource, isRefunded: Bool) {
                let reply = await pipeline.answer(body: body, route: .auto)
                let rows = try JSONValue(reading: reply.answer.body)["receipt"]?["in_app"]?.elements ?? []
                let row = rows.first { $0["transaction_id"]?.text == bought.receiptId }
                return (reply.source, row?["cancellation_date_ms"] != nil)
            }
            func fail(_ endpoints: String...) {
                store.faults.removeAll()
                for endpoint in endpoints { store.faults.add(SimulatedFault(.status(503), endpoint: endpoint)) }
            }
            fail("verifyReceipt")
            #expect(try await ask() == (.api, false))
            try store.simulate(EventRequest(.refund, transactionId: bought.transactionId))
            fail()
            #expect(try await ask() == (.apple, true))
            fail("verifyReceipt")
            #expect(try await ask() == (.api, true))
            fail("verifyReceipt", "serverAPI")
            clock.now = SharedSimulator.noon.advanced(by: .seconds(61))
            #expect(try await ask() == (.receipt, true))
        }
    }

    @Test("With a store, refunds and a receipt's identifiers survive a restart")
    func restart() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let bought = try SharedSimulator.receipt(.nonConsumable)
        let empty = try SharedSimulator.receipt(.noPurchases)
        let id = try #require(bought.transactions.first?.transactionId)
        let bodies = [
            answer("\"transaction_id\":\"\(id)\",\"cancellation_date_ms\":\"1795132800586\""),
            answer("\"transaction_id\":\"700000000000777\",\"original_transaction_id\":\"700000000000777\""),
        ]
        let before = try TestProxy(ScriptedAppStore { .body(bodies[min($0.index, 1)]) }, store: store)
        for receipt in [bought, empty] { #expect(await before.ask(receipt.base64).source == .apple) }
        let isKept = await eventually {
            let learnt = try? await store.customerIdentifiersByReceipt(limit: 10).map(\.keys)
            let revoked = try? await store.revokedPurchases(after: .start).rows.map(\.row.transactionId)
            return learnt?.first?.transactionIds.map(\.rawValue) == ["700000000000777"] && revoked == [id]
        }
        #expect(isKept)
        let after = try TestProxy(.isDown, store: store) {
            $1.answer = [.stored, .receipt]
        }
        #expect(await after.ask(bought.base64).text.contains("cancellation_date_ms"))
        // The receipt belongs to a customer with purchases, so the receipt alone is not a complete answer.
        let alone = try TestProxy(.isDown, store: store) { $1.answer = [.stored] }
        #expect(await alone.ask(empty.base64).short == "21005 stored Production")
    }
}
