import AppStoreClients
import AppStoreTypes
import BridgeConfiguration
import Notifications
import Responses
import Server
import Simulator
import Telemetry
import TestSupport
import Testing
import VerifyReceipt

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
        bridge.appStore.update { world in
            world.change("700000000000500") { $0.revoked = SharedSimulator.noon }
        }
        try await bridge.receive(try bridge.appStore.notification("REFUND", of: "700000000000500"))
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
        bridge.now = bridge.now.advanced(byMilliseconds: 1_500)
        let second = await bridge.ask(receipt)
        #expect(bridge.hits == 1 && second.body != first.body)
        #expect(second.body.contains("\"request_date_ms\":\"\(bridge.now.milliseconds)\""))
        bridge.now = bridge.now.advanced(byMilliseconds: 60_000)
        #expect(await bridge.ask(receipt).status == 0 && bridge.hits == 1)
    }

    @Test("A request that differs, another source, a fallback and a request of a batch are not answered from memory")
    func others() async throws {
        let bridge = try StoringTestProxy([.api])
        let receipt = try bridge.appStore.receipt()
        for _ in 0..<2 { _ = await bridge.ask(receipt) }
        #expect(await bridge.ask(receipt, password: "wrong").status == 21004 && bridge.hits == 0)
        #expect(await bridge.ask(receipt, password: SimulatedApp.first.sharedSecret).status == 0 && bridge.hits == 0)
        let batch = await bridge.pipelines.verifyReceipt.answer(
            body: Question.body(receipt, password: nil), route: .auto, requestOptions: .init(priority: .batch))
        #expect(batch.answer.status == .valid && bridge.hits == 0)
        for sources in [[AnswerSource.receipt], [.apple, .api]] {
            let other = try StoringTestProxy(sources)
            for _ in 0..<3 { #expect(await other.ask(receipt).status == 0 && other.hits == 0) }
        }
    }
}

extension StoringTestProxy {
    /// Requests that the response cache answered.
    fileprivate var hits: Int64 { pipelines.counts.responseCache.count(HitLabel.hit.rawValue) }
}
