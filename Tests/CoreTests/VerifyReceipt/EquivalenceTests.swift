import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// Sends every receipt of a simulated world to both sources. If a run fails, set `RECEIPT_BRIDGE_SEED` to the printed
/// seed to repeat it. The simulated clock stands still, so even the request dates are equal.
@Suite("Responses from the Server API, compared with verifyReceipt")
struct EquivalenceTests {
    private static let customers = TestSize.pick(debug: 84, release: 2_000)

    @Test("The response from the Server API equals verifyReceipt's, except for known differences")
    func equivalence() async throws {
        let seed =
            ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...9_999)
        print("RECEIPT_BRIDGE_SEED=\(seed)")
        let store = try SimulatedStore(
            seed: seed, customers: Self.customers, clock: .fixed(SharedSimulator.noon), pki: try SharedSimulator.pki)
        var tally = AnswerTally()
        let receipts = store.sampleReceipts
        try await store.serving { port, transport in
            let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
            for receipt in receipts {
                let body = Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret)
                let reply = await pipeline.answer(body: body, route: .auto)
                #expect(
                    reply.source == .api || receipt.originalTransactionIds.isEmpty, "\(receipt.id) by \(reply.source)")
                let theirs = try await apple(body, receipt.environment, port: port, transport: transport)
                let refunded = receipt.customer.refundedConsumables
                tally.add(
                    try LeafDifferences(ours: reply.answer.body, theirs: theirs, refunded: refunded), of: receipt.id)
            }
        }

        print("\(receipts.count) receipts of \(Self.customers) customers: \(tally.counts)")
        #expect(receipts.count > TestSize.pick(debug: 45, release: 2_000))
        #expect(tally.unexpected == [:])
        #expect(AnswerTally.unknownRules == [])
        #expect((tally.expected[.requestDate] ?? 0) == 0, "the clock does not move")
        #expect((tally.expected[.latestReceiptEcho] ?? 0) > 0)
    }

    /// Returns the response of the simulated verifyReceipt endpoint.
    private func apple(
        _ body: [UInt8], _ environment: AppStoreEnvironment, port: Int, transport: CurlTransport
    ) async throws -> [UInt8] {
        let path = environment == .sandbox ? "sandbox" : "production"
        return try await transport.send(
            HTTPRequest(method: .post, url: "http://127.0.0.1:\(port)/\(path)/verifyReceipt", headers: [:], body: body)
        ).body
    }
}
