import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Responses after a long series of events")
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

    /// Applies events to a simulated world, about five to each customer, then sends every receipt with the same
    /// password; in debug, those of one customer of each kind.
    private func outcome(seed: UInt64, password: String) async throws -> Outcome {
        try await ServerAPIWorld.asking(customers: TestSize.pick(debug: 84, release: 120)) {
            appStore, port, transport in
            let receipts = appStore.sampleReceipts
            #expect(receipts.count > TestSize.pick(debug: 45, release: 120))
            let count = TestSize.pick(debug: 420, release: 600)
            let events = appStore.events.make(count, seed: seed)
            #expect(events.count > count * 11 / 12)
            let changed = Dictionary(
                events.compactMap(\.after).map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let api = try ServerAPIWorld.pipeline(appStore, port: port, transport: transport, answer: [.api])
            let (graph, reader) = (
                try ServerAPIWorld.graph(
                    appStore, port: port, transport: transport, store: store, answer: [.stored, .api]),
                try ServerAPIWorld.graph(
                    appStore, port: port, transport: transport, store: store, answer: [.stored, .api])
            )
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
                outcome.api.add(try differences(await api.answer(body: body, route: .auto)), of: receipt.id)
                // The first response is from the Server API. Its records are stored, and another server renders the
                // second response from them.
                var reply = await graph.verifyReceipt.answer(body: body, route: .auto)
                if reply.source == .api {
                    await graph.finishWriting()
                    reply = await reader.verifyReceipt.answer(body: body, route: .auto)
                }
                if reply.source == .stored { outcome.storedAnswers += 1 }
                outcome.stored.add(try differences(reply), of: receipt.id)
            }
            await store.close()
            return outcome
        }
    }

    @Test(
        "Responses of the Server API and of the store equal verifyReceipt's, except for differences with a rule",
        arguments: TestSize.pick(debug: [7], release: [7, 1979] as [UInt64]))
    func rightPassword(seed: UInt64) async throws {
        let outcome = try await outcome(seed: seed, password: SimulatedApp.first.sharedSecret)
        print("seed \(seed), \(outcome.receipts) receipts, \(outcome.late) without their later subscription")
        print("api: \(outcome.api.counts)")
        print("stored (\(outcome.storedAnswers)): \(outcome.stored.counts)")
        #expect(outcome.api.unexpected == [:])
        #expect(outcome.stored.unexpected == [:])
        #expect(AnswerTally.unknownRules == [])
        // Otherwise the test would prove nothing.
        #expect(outcome.late > 0)
        #expect(outcome.storedAnswers > outcome.receipts / 2)
        for tally in [outcome.api, outcome.stored] {
            #expect((tally.expected[.unfinishedConsumable] ?? 0) > 0)
            #expect((tally.expected[.requestDate] ?? 0) == 0, "the clock does not move")
        }
    }

    @Test("A response to a wrong password is 21004, or omits what the password protects")
    func wrongPassword() async throws {
        let outcome = try await outcome(seed: 7, password: "wrong")
        for tally in [outcome.api, outcome.stored] {
            #expect(tally.unexpected == [:])
            #expect(tally.expected.keys.allSatisfy { $0 == .refundedConsumable })
        }
        #expect(outcome.late > 0)
    }
}
