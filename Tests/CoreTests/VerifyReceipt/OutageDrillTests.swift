import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("An outage of five hours")
struct OutageDrillTests {
    private static let hour: Int64 = 3_600_000

    /// Hours after the beginning of the outage. Each one is a request for every receipt.
    private static var hours: [Int64] { TestSize.pick(debug: [5], release: [0, 1, 3, 5]) }

    /// An app's view of a response: the transactions that grant access at a time, and those that were revoked.
    private struct Rights {
        var active: Set<String> = []
        var revoked: Set<String> = []
        /// Original transaction ids of subscriptions without a current period whose last period was not revoked.
        var ended: Set<String> = []

        init(_ body: [UInt8], at now: Timestamp) throws {
            let answer = try JSONValue(reading: body)
            var rows = answer["receipt"]?["in_app"]?.elements ?? []
            if rows.isEmpty, let receipt = answer["receipt"], receipt["in_app"] == nil { rows.append(receipt) }
            for name in ["latest_receipt_info", "latest_expired_receipt_info"] {
                rows += answer[name]?.elements ?? (answer[name].map { [$0] } ?? [])
            }
            var running: Set<String> = []
            for row in rows {
                guard let id = row["transaction_id"]?.text else { continue }
                let original = row["original_transaction_id"]?.text ?? id
                if row["cancellation_date"] != nil || row["cancellation_date_ms"] != nil {
                    if row["is_upgraded"]?.text != "true" { revoked.insert(id) }
                    continue
                }
                // iOS 6 responses have milliseconds in `expires_date`.
                let expires = (row["expires_date_ms"]?.text ?? row["expires_date"]?.text).flatMap { Int64($0) }
                guard let expires else {
                    active.insert(id)
                    continue
                }
                if expires > now.milliseconds {
                    active.insert(id)
                    running.insert(original)
                } else {
                    ended.insert(original)
                }
            }
            ended.subtract(running)
            // A transaction that one row shows as revoked does not count, even if another row has it without a
            // revocation.
            active.subtract(revoked)
        }
    }

    /// The number of responses by source, for the output.
    private struct Tally {
        var sources: [String: Int] = [:]
        var askedToComeAgain = 0

        var text: String {
            sources.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
                + ", 21005: \(askedToComeAgain)"
        }
    }

    // T22
    @Test(
        "During an outage, customers keep their last known purchases except refunded ones, and no receipt becomes invalid",
        arguments: [[AnswerSource.api, .stored, .receipt], [.stored, .api, .receipt], [.apple, .receipt]])
    func drill(order: [AnswerSource]) async throws {
        let appStore = try SimulatedStore(
            seed: 11, customers: 84, clock: .fixed(SharedSimulator.noon), pki: try SharedSimulator.pki)
        let port = try await appStore.start()
        let curl = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let clock = MovableClock()
        let world = ServerAPIWorld(appStore: appStore, port: port, transport: CircuitBreakingTransport(curl))
        let bridge = try world.graph(order, store: store, clock: clock) { $1.cacheSeconds = 0 }
        func ask(_ receipt: IssuedReceipt) async -> SourcedAnswer {
            await bridge.verifyReceipt.answer(
                body: Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret), route: .auto)
        }
        await bridge.whenLoaded()
        // Before the outage, notifications are received.
        try await receive(appStore.simulate(40, seed: 3), of: appStore, to: bridge)
        let receipts = appStore.sampleReceipts
        var seen: [String: [UInt8]] = [:]
        for receipt in receipts {
            let reply = await ask(receipt)
            #expect(reply.answer.status == .valid || reply.answer.status == .subscriptionExpired, "\(receipt.id)")
            seen[receipt.id] = reply.answer.body
        }
        await bridge.finishWriting()
        let archived = try await store.lastGoodUsage()
        #expect((archived.count > 0) == order.contains(.apple))
        if archived.count > 0 {
            print("\(archived.count) responses archived, \(archived.bytes / archived.count) bytes each")
        }
        // Some purchases are refunded. Then the App Store refuses all connections.
        var refunds: [EventOutcome] = []
        for customer in appStore.sample where refunds.count < 12 {
            if let outcome = try? appStore.simulate(EventRequest(.refund, customerId: customer.id)) {
                refunds.append(outcome)
            }
        }
        #expect(refunds.count == 12)
        try await receive(refunds, of: appStore, to: bridge)
        let refunded = Set(refunds.flatMap(\.notifications).compactMap { $0.transaction?.transactionId })
        await appStore.stop()
        for hours in Self.hours {
            clock.now = SharedSimulator.noon.advanced(by: .milliseconds(hours * Self.hour + 1))
            var tally = Tally()
            for receipt in receipts {
                let reply = await ask(receipt)
                let known = try Rights(seen[receipt.id] ?? [], at: clock.now)
                try check(reply, of: receipt, known: known, refunded: refunded, at: clock.now, &tally)
            }
            print("\(order.map(\.rawValue).joined(separator: ", ")), hour \(hours): \(tally.text)")
        }
        await curl.shutDown()
    }

    private func check(
        _ reply: SourcedAnswer, of receipt: IssuedReceipt, known: Rights, refunded: Set<String>,
        at now: Timestamp,
        _ tally: inout Tally
    ) throws {
        let name = "\(receipt.id) \(receipt.customer.kind) \(reply.source)"
        switch reply.answer.status {
        case .valid, .subscriptionExpired:
            tally.sources[reply.source.rawValue, default: 0] += 1
            let rights = try Rights(reply.answer.body, at: now)
            // Responses never show a consumable's refund.
            let consumables = Set(
                receipt.customer.transactions.filter { $0.product.kind == .consumable }.map(\.transactionId))
            let lost = known.active.subtracting(rights.active).subtracting(refunded)
            #expect(lost.isEmpty, "\(name) lost \(lost)")
            #expect(
                rights.active.isDisjoint(with: refunded.subtracting(consumables)), "\(name) holds a refunded purchase")
            #expect(known.revoked.isSubset(of: rights.revoked), "\(name) lost a revocation")
        case .temporarilyUnavailable:
            tally.askedToComeAgain += 1
            // Only a customer with an ended subscription, which may have been renewed since, may get 21005.
            #expect(!known.ended.isEmpty, "\(name) has no subscription that could be stale")
        default:
            Issue.record("\(name) got \(reply.answer.status.rawValue)")
        }
    }

    /// Receives the notifications as the App Store posts them.
    private func receive(_ outcomes: [EventOutcome], of appStore: SimulatedStore, to bridge: ServiceGraph) async throws
    {
        for notification in outcomes.flatMap(\.notifications) {
            try await bridge.notifications.receive(try appStore.body(of: notification))
        }
    }
}
