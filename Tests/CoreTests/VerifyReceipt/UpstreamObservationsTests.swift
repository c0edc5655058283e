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

    @Test("The refund of an older period does not make a stale receipt current")
    func olderRefund() async throws {
        let (receipt, periods) = try #require(
            try SharedSimulator.world.receipts.lazy.compactMap { receipt in
                let periods = receipt.transactions.filter { $0.product.kind == .autoRenewable }
                    .sorted { $0.purchaseDate < $1.purchaseDate }
                let isOne = Set(periods.map(\.originalTransactionId)).count == 1
                let isWhole = periods.allSatisfy { $0.revocation == nil }
                return receipt.plan.version == nil && periods.count > 1 && isOne && isWhole ? (receipt, periods) : nil
            }.first)
        let later = SharedSimulator.noon.advanced(by: .milliseconds(3 * 366 * 86_400_000))
        for refunded in [periods.first, periods.last, nil] {
            let row = refunded.map {
                "\"transaction_id\":\"\($0.transactionId)\",\"cancellation_date_ms\":\"\(later.milliseconds - 1)\""
            }
            let first = answer(row ?? "")
            let bridge = try TestProxy(ScriptedAppStore { $0.index < 1 ? .body(first) : .http(503) }, now: later) {
                $1.answer = [.apple, .receipt]
            }
            #expect(await bridge.ask(receipt.base64).source == .apple)
            let reply = await bridge.ask(receipt.base64)
            let isNewest = refunded?.transactionId == periods.last?.transactionId
            #expect(reply.source == .receipt && reply.status == (isNewest ? 0 : 21005), "\(reply.text.prefix(200))")
        }
    }

    @Test(
        "An upgrade or an unreadable cancellation date is not recorded as a refund",
        arguments: [
            "\"cancellation_date_ms\":\"1795132800586\",\"is_upgraded\":\"true\"",
            "\"cancellation_date_ms\":\"soon\"",
            "\"cancellation_date_ms\":99999999999999999999",
            "\"cancellation_date\":{}",
        ])
    func noRefund(members: String) async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.transactionId)
        let bridge = try bridge([answer("\"transaction_id\":\"\(id)\",\(members)")])
        #expect(await bridge.ask(receipt.base64).source == .apple)
        let reply = await bridge.ask(receipt.base64)
        #expect(reply.short == "0 receipt Production")
        #expect(!reply.text.contains("cancellation_date"))
    }

    @Test("Refunds in flat iOS 6 responses are recorded")
    func flat() async throws {
        let receipt = try #require(
            try SharedSimulator.world.receipts.first {
                $0.plan.version != nil
                    && $0.transactions.first.map { $0.product.kind == .nonConsumable && $0.revocation == nil } == true
            })
        let id = try #require(receipt.transactions.first?.transactionId)
        let bridge = try bridge([
            "{\"status\":0,\"receipt\":{\"transaction_id\":\"\(id)\",\"cancellation_date_ms\":\"1795132800586\"}}"
        ])
        #expect(await bridge.ask(receipt.base64).source == .apple)
        let reply = await bridge.ask(receipt.base64)
        #expect(reply.source == .receipt)
        #expect(reply.text.contains("\"cancellation_date_ms\":\"1795132800586\""))
    }

    @Test("Identifiers that Apple named for a receipt without purchases are used for lookups when Apple is unavailable")
    func identifiers() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            let pipeline = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.apple, .api, .receipt])
            let customer = try #require(
                store.world.customers.first { $0.kind == .activeSubscription && $0.environment == .production })
            let id = try #require(customer.transactions.last?.originalTransactionId)
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
            let other = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.apple, .api, .receipt])
            #expect(await other.answer(body: body, route: .auto).source == .receipt)
        }
    }

    @Test("A refund invalidates cached Server API records, and is still applied when no upstream is available")
    func refundAfterLookup() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            let clock = MovableClock()
            let pipeline = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.apple, .api, .receipt], now: { clock.now })
            // A refund of a renewal, whose transaction id differs from its original transaction id.
            let customer = try #require(
                store.world.customers.first { $0.kind == .activeSubscription && $0.environment == .production })
            let receipt = try #require(store.receipts(of: customer).first)
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
        await store.close()
    }
}
