import AppStoreClients
import AppStorePayloads
import Base
import BridgeConfiguration
import Logging
import Responses
import Server
import Simulator
import Storage
import Testing
import TestSupport
import Transport
import VerifyReceipt

@Suite("Stored responses for every kind of customer")
struct StoredEquivalenceTests {
    @Test("Stored responses equal those of the Server API while they are current")
    func everybody() async throws {
        try await ServerAPIWorld.asking(customers: 84) { appStore, port, transport in
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let graph = try ServerAPIWorld.graph(
                appStore, port: port, transport: transport, store: store, answer: [.stored, .api])
            let pipeline = graph.verifyReceipt
            let api = try ServerAPIWorld.pipeline(appStore, port: port, transport: transport, answer: [.api])
            var passed: Set<CustomerKind> = []
            var stored: Set<CustomerKind> = []
            for receipt in appStore.sampleReceipts where receipt.customer.kind != .noPurchases {
                let body = Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret)
                let expected = await api.answer(body: body, route: .auto)
                _ = await pipeline.answer(body: body, route: .auto)
                await graph.finishWriting()
                let reply = await pipeline.answer(body: body, route: .auto)
                #expect(reply.answer.body == expected.answer.body, "\(receipt.id) \(receipt.customer.kind)")
                #expect(reply.answer.status == expected.answer.status && reply.environment == expected.environment)
                if reply.source == .stored {
                    stored.insert(receipt.customer.kind)
                } else {
                    passed.insert(receipt.customer.kind)
                }
            }
            #expect(passed.isEmpty, "\(passed)")
            #expect(stored.count > 40)
            await store.close()
        }
    }
}
