import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Server API source")
struct ServerAPISourceTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let kind: SimulatedFault.Kind
        /// The status with `answer: [api]`.
        let alone: Int

        var testDescription: String { name }
    }

    static let faults = [
        Fault(name: "401 without a body", kind: .status(401), alone: 21009),
        Fault(name: "500 without a body", kind: .status(500), alone: 21005),
        Fault(name: "an HTML page with 200", kind: .html, alone: 21005),
        Fault(name: "half an answer", kind: .truncate, alone: 21005),
        Fault(name: "a connection that breaks", kind: .reset, alone: 21005),
    ]

    @Test("A failure of the Server API does not make a receipt invalid, and the next source answers", arguments: faults)
    func failing(fault: Fault) async throws {
        try await ServerAPIWorld.asking(customers: 6) { store, world in
            let receipt = try #require(
                store.receipts.first { !$0.originalTransactionIds.isEmpty && $0.plan.version == nil })
            store.faults.add(SimulatedFault(fault.kind, endpoint: "serverAPI"))
            let body = Question.body(receipt.base64)
            let reply = await (try world.pipeline([.api])).answer(body: body, route: .auto)
            #expect(reply.answer.status.rawValue == fault.alone)
            #expect(reply.source == .api)
            let second = await (try world.pipeline([.api, .receipt])).answer(body: body, route: .auto)
            #expect(second.source == .receipt)
            #expect(second.answer.status == .valid)
        }
    }

    @Test("The Server API is not called for a receipt that is not authentic or has no transaction")
    func notAsked() async throws {
        try await ServerAPIWorld.asking(customers: 40) { store, world in
            let pipeline = try world.pipeline([.api])
            let tampered = try #require(SharedSimulator.hostile.first { $0.mangling == "tamperedByte" })
            let refused = await pipeline.answer(body: Question.body(tampered.text), route: .auto)
            #expect(refused.answer.status == .notAuthentic)
            let empty = try #require(store.receipts.first { $0.originalTransactionIds.isEmpty })
            let answered = await pipeline.answer(body: Question.body(empty.base64), route: .auto)
            #expect(answered.answer.status == .valid)
            #expect(answered.source == .receipt)
            #expect(store.requests.total == 0)
        }
    }
}
