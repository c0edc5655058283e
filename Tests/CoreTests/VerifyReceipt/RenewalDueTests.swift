import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("iOS 6 receipts whose subscription has just ended")
struct RenewalDueTests {
    /// The Server API for one customer. For example, the subscription is expired in the first lookup and renewed in
    /// the second.
    ///
    /// - Parameter answers: history and statuses of each lookup; the last ones are repeated.
    private func renewing(_ answers: [[JSONValue]]) -> ScriptedAppStore {
        ScriptedAppStore { request in
            .json(answers[min(request.round, answers.count - 1)][request.url.contains("/history/") ? 0 : 1])
        }
    }

    private struct Scenario {
        let store: SimulatedStore
        let receipt: IssuedReceipt
        let transaction: SimulatedTransaction

        init() throws {
            store = try SharedSimulator.world
            receipt = try SharedSimulator.receipt(.oldActiveSubscription, version: 4)
            transaction = try #require(receipt.transactions.last)
        }

        /// The history and the statuses with a period that ends at the given time.
        func answers(end: Timestamp, status: Int64, renews: Int64 = 1, retries: Bool? = nil) throws -> [JSONValue] {
            let bundleId = SimulatedApp.first.bundleId
            var row = transaction
            row.expiresDate = end
            let signed = try store.pki.jwsSigner.jws(
                payload: row.row(.production, signedDate: SharedSimulator.noon, bundleId: bundleId))
            let renewal = try store.pki.jwsSigner.jws(
                payload: .object([
                    "originalTransactionId": .string(transaction.originalTransactionId),
                    "productId": .string(transaction.product.productId),
                    "autoRenewProductId": .string(transaction.product.productId),
                    "autoRenewStatus": .number(renews), "environment": .string("Production"),
                    "isInBillingRetryPeriod": retries.map(JSONValue.bool),
                    "signedDate": .number(SharedSimulator.noon.milliseconds),
                ]))
            let envelope: KeyValuePairs<String, JSONValue?> = [
                "bundleId": .string(bundleId), "environment": .string("Production"), "revision": .string("1"),
                "hasMore": .bool(false), "signedTransactions": .array([.string(signed)]),
            ]
            let item = JSONValue.object([
                "originalTransactionId": .string(transaction.originalTransactionId), "status": .number(status),
                "signedTransactionInfo": .string(signed), "signedRenewalInfo": .string(renewal),
            ])
            let statuses: KeyValuePairs<String, JSONValue?> = [
                "bundleId": .string(bundleId), "environment": .string("Production"),
                "data": .array([
                    .object(["subscriptionGroupIdentifier": .string("1"), "lastTransactions": .array([item])])
                ]),
            ]
            return [.object(envelope), .object(statuses)]
        }

        /// Returns the status, and how often the history and the statuses were requested.
        func ask(_ transport: ScriptedAppStore) async throws -> String {
            let pipeline = try ServerAPIWorld(appStore: store, transport: transport).pipeline([.api])
            let reply = await pipeline.answer(body: Question.body(receipt.base64), route: .auto)
            let histories = transport.requests.count { $0.url.contains("/history/") }
            return "\(reply.answer.status.rawValue) \(histories) \(transport.requests.count - histories)"
        }
    }

    private let minuteAgo = SharedSimulator.noon.advanced(by: .minutes(-1))
    private let nextMonth = SharedSimulator.noon.advanced(by: .days(30))

    @Test("A just ended subscription is looked up again, and its renewal is found")
    func renewed() async throws {
        let scenario = try Scenario()
        let transport = renewing([
            try scenario.answers(end: minuteAgo, status: 2), try scenario.answers(end: nextMonth, status: 1),
        ])
        #expect(try await scenario.ask(transport) == "0 2 3")
    }

    @Test("A subscription that is still ended after the second lookup gives 21006")
    func over() async throws {
        let scenario = try Scenario()
        #expect(try await scenario.ask(renewing([try scenario.answers(end: minuteAgo, status: 2)])) == "21006 1 2")
    }

    @Test("A subscription that cannot be renewing is not looked up again")
    func nothingToExpect() async throws {
        let scenario = try Scenario()
        let hourAgo = SharedSimulator.noon.advanced(by: .hours(-1))
        for answers in [
            try scenario.answers(end: hourAgo, status: 2), try scenario.answers(end: minuteAgo, status: 2, renews: 0),
            try scenario.answers(end: minuteAgo, status: 2, retries: true),
            try scenario.answers(end: minuteAgo, status: 3),
            try scenario.answers(end: minuteAgo, status: 5),
        ] {
            // Both are requested at the same time, because the receipt has a subscription.
            #expect(try await scenario.ask(renewing([answers])) == "21006 1 1")
        }
    }

    struct Turn: Sendable {
        /// The end of the period, in milliseconds after the first request.
        let end: Int64
        /// The times of the requests, in milliseconds, and how many calls each one makes.
        let posts: [(at: Int64, calls: Int)]
    }

    static let turns = [
        Turn(end: 600_000, posts: [(0, 2), (5_000, 0), (59_999, 0), (60_000, 2)]),
        Turn(end: 140_000, posts: [(0, 2), (19_999, 0), (20_000, 1), (24_999, 0), (25_000, 1)]),
        Turn(end: 119_000, posts: [(0, 2), (1_000, 0), (4_999, 0), (5_000, 1), (9_999, 0)]),
        Turn(end: 3_000, posts: [(0, 2), (2_999, 0), (3_000, 2), (7_999, 0), (8_000, 1)]),
        // By its date the period is over, whatever the status says: a client denies it.
        Turn(end: -119_000, posts: [(0, 2), (4_999, 0), (5_000, 1), (9_999, 0)]),
        Turn(end: -121_000, posts: [(0, 2), (4_999, 0), (5_000, 1)]),
    ]

    /// Sends a request at each time, in milliseconds after the first one, and expects its number of calls.
    private func ask(
        _ answers: (Scenario) throws -> [JSONValue], _ posts: [(at: Int64, calls: Int)], _ status: VerifyReceiptStatus
    ) async throws {
        let scenario = try Scenario()
        let transport = renewing([try answers(scenario)])
        let clock = MovableClock()
        let world = ServerAPIWorld(appStore: scenario.store, transport: transport)
        let pipeline = try world.pipeline([.api], clock: clock)
        for post in posts {
            clock.now = SharedSimulator.noon.advanced(by: .milliseconds(post.at))
            let before = transport.requests.count
            let reply = await pipeline.answer(body: Question.body(scenario.receipt.base64), route: .auto)
            #expect(reply.answer.status == status)
            #expect(transport.requests.count - before == post.calls, "at \(post.at)")
        }
    }

    // A free sandbox subscription is renewed every few minutes, so it is always near the end of a period.
    @Test(
        "Near the end of a period, lookups are at least five seconds apart, with one at the end",
        arguments: turns.indices)
    func aroundTheEnd(index: Int) async throws {
        let turn = Self.turns[index]
        let end = SharedSimulator.noon.advanced(by: .milliseconds(turn.end))
        try await ask({ try $0.answers(end: end, status: 1) }, turn.posts, .valid)
    }

    @Test("A subscription that seems ended is asked about again at most every five seconds")
    func confirmed() async throws {
        try await ask(
            { try $0.answers(end: minuteAgo, status: 2) }, [(0, 3), (1, 0), (4_999, 0), (5_000, 1)],
            .subscriptionExpired)
    }
}
