import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Cached responses")
struct CachedResponseTests {
    @Test("From its third time on, a request is answered from memory, until a refund becomes known")
    func untilRefund() async throws {
        let bridge = try StoringTestProxy([.api])
        let receipt = try bridge.appStore.receipt()
        let before = await bridge.ask(receipt)
        #expect(before.source == .api && before.status == 0 && bridge.hits == 0)
        #expect(await bridge.ask(receipt).body == before.body && bridge.hits == 0)
        let again = await bridge.ask(receipt)
        #expect(again.body == before.body && again.source == .api && bridge.hits == 1)
        bridge.appStore.change("700000000000500") { $0.revoked = SharedSimulator.noon }
        try await bridge.notify("REFUND", of: "700000000000500")
        let after = await bridge.ask(receipt)
        #expect(after.body.contains("cancellation_date") && bridge.hits == 1)
        #expect(await bridge.ask(receipt).body == after.body && bridge.hits == 2)
    }

    @Test("A cached response has its own request date, and expires with the records")
    func time() async throws {
        let bridge = try StoringTestProxy([.api])
        let receipt = try bridge.appStore.receipt()
        let first = await bridge.ask(receipt)
        _ = await bridge.ask(receipt)
        bridge.now = bridge.now.advanced(by: .milliseconds(1_500))
        let second = await bridge.ask(receipt)
        #expect(bridge.hits == 1 && second.body != first.body)
        #expect(second.body.contains("\"request_date_ms\":\"\(bridge.now.milliseconds)\""))
        bridge.now = bridge.now.advanced(by: .minutes(1))
        #expect(await bridge.ask(receipt).status == 0 && bridge.hits == 1)
    }

    @Test("A request that differs, another source, a fallback and a request of a batch are not answered from memory")
    func others() async throws {
        let bridge = try StoringTestProxy([.api])
        let receipt = try bridge.appStore.receipt()
        for _ in 0..<2 { _ = await bridge.ask(receipt) }
        func answer(
            _ route: UpstreamRouter.Route = .auto,
            _ change: (inout VerifyReceiptService.RequestOptions) -> Void = { _ in }
        ) async -> VerifyReceiptStatus {
            var options = VerifyReceiptService.RequestOptions()
            change(&options)
            return await bridge.pipelines.verifyReceipt.answer(
                body: Question.body(receipt, password: nil), route: route, requestOptions: options
            ).answer.status
        }
        // From the third time on, each of these would be answered from memory if it could.
        for _ in 0..<3 {
            #expect(await bridge.ask(receipt, password: "wrong").status == 21004)
            #expect(await answer(.only(.sandbox)) == .productionReceipt)
            #expect(await answer { $0.isFresh = true } == .valid)
            #expect(await answer { $0.user = Redacted("user") } == .valid)
            #expect(await answer { $0.priority = .batch } == .valid)
            #expect(await answer { $0.sources = [.receipt] } == .valid)
        }
        #expect(bridge.hits == 0)
        for hits: Int64 in [0, 0, 1] {
            #expect(await bridge.ask(receipt, password: SimulatedApp.first.sharedSecret).status == 0)
            #expect(bridge.hits == hits)
        }
        for sources in [[AnswerSource.receipt], [.apple, .api]] {
            let other = try StoringTestProxy(sources)
            for _ in 0..<3 { #expect(await other.ask(receipt).status == 0 && other.hits == 0) }
        }
    }

    @Test("After an erasure no response from before it is sent")
    func erasure() async throws {
        let bridge = try StoringTestProxy([.api])
        let receipt = try bridge.appStore.receipt()
        for _ in 0..<3 { _ = await bridge.ask(receipt) }
        #expect(bridge.hits == 1)
        try await bridge.pipelines.invalidateErasedCustomers(in: bridge.store)
        #expect(await bridge.ask(receipt).status == 0 && bridge.hits == 1)
    }

    @Test("A refund, or its reversal, that is not stored yet when another customer is erased stays known")
    func refundDuringErasure() async throws {
        let bridge = try StoringTestProxy([.api, .receipt])
        let appStore = bridge.appStore
        let receipt = try appStore.receipt()
        /// Reloads from another store, which is like the own one before it is written, and asks during an outage.
        func isRefunded(after stored: StoringTestProxy) async throws -> Bool {
            try await bridge.pipelines.invalidateErasedCustomers(in: stored.store)
            appStore.update { $0.isDown = true }
            let reply = await bridge.ask(receipt)
            #expect(reply.source == .receipt && reply.status == 0)
            appStore.update { $0.isDown = false }
            return reply.body.contains("cancellation_date")
        }
        let before = try StoringTestProxy(appStore: appStore)
        #expect(await before.waitUntilStored(receipt))
        #expect(try await !isRefunded(after: before))
        appStore.update { world in
            world.change("700000000000500") { $0.revoked = SharedSimulator.noon }
            world.clock = world.clock.advanced(by: .seconds(1))
        }
        #expect(await bridge.ask(receipt).source == .api)
        #expect(try await isRefunded(after: before))
        let refunded = try StoringTestProxy(appStore: appStore)
        #expect(await refunded.waitUntilStored(receipt))
        appStore.update { world in
            world.change("700000000000500") { $0.revoked = nil }
            world.clock = world.clock.advanced(by: .seconds(1))
        }
        #expect(await bridge.ask(receipt).source == .api)
        #expect(try await !isRefunded(after: refunded))
    }
}

extension StoringTestProxy {
    /// Requests that the response cache answered.
    fileprivate var hits: Int64 { pipelines.counts.responseCache.count(HitLabel.hit) }
}
