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
        let store = try SharedSimulator.store(customers: 6)
        try await store.serving { port, transport in
            let receipt = try #require(
                store.receipts.first { !$0.originalTransactionIds.isEmpty && $0.plan.version == nil })
            store.faults.add(SimulatedFault(fault.kind, endpoint: "serverAPI"))
            let body = Question.body(receipt.base64)
            let alone = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
            let reply = await alone.answer(body: body, route: .auto)
            #expect(reply.answer.status.rawValue == fault.alone)
            #expect(reply.source == .api)
            let both = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api, .receipt])
            let second = await both.answer(body: body, route: .auto)
            #expect(second.source == .receipt)
            #expect(second.answer.status == .valid)
        }
    }

    @Test("The Server API is not called for a receipt that is not authentic or has no transaction")
    func notAsked() async throws {
        let store = try SharedSimulator.store(customers: 40)
        try await store.serving { port, transport in
            let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
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

    @Test(
        "Refunds from the Server API are applied to local responses when the API is unavailable",
        arguments: [SimulatedFault.Kind.status(503), .reset])
    func refundsStay(fault: SimulatedFault.Kind) async throws {
        let store = try SharedSimulator.store(customers: 120)
        try await store.serving { port, transport in
            let receipt = try #require(
                store.receipts.first { receipt in
                    let subscriptions = Dictionary(
                        grouping: receipt.transactions.filter(\.isAutoRenewable), by: \.originalTransactionId)
                    let isCurrent = subscriptions.values.allSatisfy { rows in
                        rows.contains {
                            $0.revocation != nil || $0.expiresDate.map { $0 > SharedSimulator.noon } == true
                        }
                    }
                    return receipt.plan.version == nil && isCurrent
                        && receipt.transactions.contains { $0.revocation != nil && $0.product.kind != .consumable }
                })
            let pipeline = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.api, .receipt], changing: { $0.cacheSeconds = 0 })
            let body = Question.body(receipt.base64)
            let first = await pipeline.answer(body: body, route: .auto)
            #expect(first.source == .api)
            #expect(String(decoding: first.answer.body, as: UTF8.self).contains("cancellation_date_ms"))
            store.faults.add(SimulatedFault(fault, endpoint: "serverAPI"))
            let second = await pipeline.answer(body: body, route: .auto)
            #expect(second.source == .receipt)
            #expect(second.answer.status == .valid)
            #expect(String(decoding: second.answer.body, as: UTF8.self).contains("cancellation_date_ms"))
        }
    }
}
