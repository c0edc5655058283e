import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Stored responses for every kind of customer")
struct StoredEquivalenceTests {
    @Test("Stored responses equal those of the Server API while they are current, from memory and from the store")
    func everybody() async throws {
        try await ServerAPIWorld.asking(customers: 84) { appStore, port, transport in
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            func graph() throws -> ServiceGraph {
                try ServerAPIWorld.graph(
                    appStore, port: port, transport: transport, store: store, answer: [.stored, .api])
            }
            let (first, second) = (try graph(), try graph())
            let api = try ServerAPIWorld.pipeline(appStore, port: port, transport: transport, answer: [.api])
            var passed: Set<CustomerKind> = []
            var stored: Set<CustomerKind> = []
            for receipt in appStore.sampleReceipts where receipt.customer.kind != .noPurchases {
                let body = Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret)
                let expected = await api.answer(body: body, route: .auto)
                _ = await first.verifyReceipt.answer(body: body, route: .auto)
                await first.finishWriting()
                let calls = appStore.requests.total
                // What the lookup returned is at hand in the first server. The second one reads the store.
                for graph in [first, second] {
                    let reply = await graph.verifyReceipt.answer(body: body, route: .auto)
                    #expect(reply.answer.body == expected.answer.body, "\(receipt.id) \(receipt.customer.kind)")
                    #expect(reply.answer.status == expected.answer.status && reply.environment == expected.environment)
                    if reply.source == .stored {
                        stored.insert(receipt.customer.kind)
                    } else {
                        passed.insert(receipt.customer.kind)
                    }
                }
                #expect(appStore.requests.total == calls)
            }
            #expect(passed.isEmpty, "\(passed)")
            #expect(stored.count > 40)
            await store.close()
        }
    }
}
