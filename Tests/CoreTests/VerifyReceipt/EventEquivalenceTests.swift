import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

/// The clock of the simulated App Store stands still, so even the request dates are equal.
@Suite("Responses of the Server API and of the store, compared with verifyReceipt")
struct EventEquivalenceTests {
    /// The differences of both sources from verifyReceipt, and the number of requests.
    private struct Outcome {
        var api = AnswerTally()
        var stored = AnswerTally()
        var receipts = 0
        /// The number of receipts without a subscription whose customer has one by now.
        var late = 0
        var storedAnswers = 0
    }

    /// A simulated world, and what happens in it before every receipt is sent; in debug, the receipts of one customer
    /// of each kind.
    struct Past: Sendable {
        var world: UInt64 = 7
        var customers = TestSize.pick(debug: 84, release: 120)
        /// About five for each customer.
        var events = TestSize.pick(debug: 420, release: 600)
        var seed: UInt64 = 7
    }

    private func outcome(_ past: Past, password: String) async throws -> Outcome {
        try await ServerAPIWorld.asking(seed: past.world, customers: past.customers) { appStore, world in
            let receipts = appStore.sampleReceipts
            #expect(receipts.count > TestSize.pick(debug: 45, release: 120))
            let events = appStore.events.make(past.events, seed: past.seed)
            #expect(events.count >= past.events * 11 / 12)
            let changed = Dictionary(
                events.compactMap(\.after).map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let api = try world.service([.api])
            let writer = try world.graph([.stored, .api], store: store)
            let reader = try world.graph([.stored, .api], store: store)
            var outcome = Outcome()
            for receipt in receipts {
                let body = Question.body(receipt.base64, password: password)
                let theirs = try appStore.verifyReceipt.answer(body: body, at: .automatic).bytes
                let current = changed[receipt.customer.id] ?? receipt.customer
                let consumables = Set(
                    current.transactions.filter { $0.product.kind == .consumable }.map(\.transactionId)
                ).subtracting(receipt.transactions.map(\.transactionId))
                func differences(_ reply: SourcedAnswer) throws -> LeafDifferences {
                    try LeafDifferences(
                        ours: reply.answer.body, theirs: theirs, consumables: consumables,
                        refunded: current.refundedConsumables)
                }
                outcome.receipts += 1
                if !receipt.hasAutoRenewable, !receipt.transactions.isEmpty,
                    current.transactions.contains(where: \.isAutoRenewable)
                {
                    outcome.late += 1
                }
                let fresh = await api.answer(body: body, route: .auto)
                outcome.api.add(try differences(fresh), of: receipt.id)
                // The first response is from the Server API. The second one is rendered from its records, which are at
                // hand in the first server, and which another server reads from the store.
                var reply = await writer.verifyReceipt.answer(body: body, route: .auto)
                if reply.source == .api {
                    await writer.finishWriting()
                    let calls = appStore.requests.total
                    for server in [writer, reader] {
                        reply = await server.verifyReceipt.answer(body: body, route: .auto)
                        #expect(reply.source != .stored || reply.answer == fresh.answer, "\(receipt.id)")
                    }
                    #expect(reply.source != .stored || appStore.requests.total == calls)
                }
                if reply.source == .stored { outcome.storedAnswers += 1 }
                outcome.stored.add(try differences(reply), of: receipt.id)
            }
            return outcome
        }
    }

    @Test("Responses equal verifyReceipt's, except for differences with a rule, also after a long series of events")
    func rightPassword() async throws {
        var random = SeededGenerator("Responses of any world")
        let anyWorld = Past(
            world: random.next() % 10_000, customers: TestSize.pick(debug: 84, release: 2_000), events: 0)
        for past in TestSize.pick(debug: [anyWorld, Past()], release: [anyWorld, Past(), Past(seed: 1_979)]) {
            let outcome = try await outcome(past, password: SimulatedApp.first.sharedSecret)
            print("\(past): \(outcome.receipts) receipts, \(outcome.late) without their later subscription")
            print("api: \(outcome.api.counts)")
            print("stored (\(outcome.storedAnswers)): \(outcome.stored.counts)")
            #expect(outcome.api.unexpected == [:])
            #expect(outcome.stored.unexpected == [:])
            // Otherwise the test would prove nothing.
            #expect(outcome.storedAnswers > outcome.receipts / 2)
            #expect(past.events == 0 || outcome.late > 0)
            for tally in [outcome.api, outcome.stored] {
                #expect((tally.expected[.latestReceiptEcho] ?? 0) > 0)
                #expect(past.events == 0 || (tally.expected[.unfinishedConsumable] ?? 0) > 0)
                #expect((tally.expected[.requestDate] ?? 0) == 0, "the clock does not move")
            }
        }
        #expect(AnswerTally.unknownRules == [])
    }

    @Test("A response to a wrong password is 21004, or omits what the password protects")
    func wrongPassword() async throws {
        let outcome = try await outcome(Past(), password: "wrong")
        for tally in [outcome.api, outcome.stored] {
            #expect(tally.unexpected == [:])
            #expect(tally.expected.keys.allSatisfy { $0 == .refundedConsumable })
        }
        #expect(outcome.late > 0)
    }
}
