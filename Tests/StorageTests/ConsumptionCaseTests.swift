import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Requests for consumption information, and stored notifications")
struct ConsumptionCaseTests {
    private func receive(
        _ uuid: String, _ type: String = "CONSUMPTION_REQUEST", at time: Int64, signed: Int64? = nil,
        about original: String = "11", in scope: AppScope, _ store: any Store, token: String? = nil
    ) async throws {
        let row = TransactionRow(
            original, at: time, isSubscription: false, token: token,
            text: CustomerDataFixture.jws("{\"transactionId\":\"\(original)\"}"))
        _ = try await store.notifications.save(
            NotificationRow(uuid, type, at: time, signed: .some(signed), text: "text of \(uuid)"),
            NotificationUpdate(transaction: row), of: scope, for: [])
    }

    private func cases(
        _ store: any Store, since: Int64 = 0, before: Int64? = nil, unsettled: Bool = false, uuid: String? = nil
    ) async throws -> [String] {
        let filter = ConsumptionCaseFilter(
            receivedSince: Timestamp(milliseconds: since), requestedBefore: before.map(Timestamp.init(milliseconds:)),
            isUnsettled: unsettled, uuid: uuid)
        return try await store.consumption.consumptionCases(filter, after: 0, limit: 9).map { found in
            let times = [found.answeredAt, found.settledAt].map { $0.map { "\($0.milliseconds)" } ?? "-" }
            let decision = found.decision?.rawValue ?? "-"
            return "\(found.uuid) \(found.requestedAt.milliseconds) \(times.joined(separator: " ")) \(decision)"
        }
    }

    @Test("Every stored request is a case; the first answer and the first decision count", arguments: engines)
    func cases(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let store = stage.store
        try await receive("a", at: 100, signed: 90, in: stage.scope, store)
        try await receive("b", at: 200, about: "12", in: stage.scope, store)
        try await receive("c", "REFUND", at: 300, in: stage.scope, store)
        #expect(try await cases(store) == ["a 90 - - -", "b 200 - - -"])
        for time in [Int64(210), 220] {
            try await store.consumption.markAnswered("b", at: Timestamp(milliseconds: time))
            try await store.consumption.markAnswered("unknown", at: Timestamp(milliseconds: time))
        }
        let filter = ConsumptionCaseFilter(receivedSince: Timestamp(milliseconds: 0))
        let first = try #require(try await store.consumption.consumptionCases(filter, after: 0, limit: 1).first)
        #expect(first.text == "text of a" && first.scope == stage.scope)
        for (decision, time) in [(RefundDecision.refunded, Int64(500)), (.notRefunded, 600)] {
            try await store.consumption.settle(
                first.id, as: decision, replacing: nil, at: Timestamp(milliseconds: time))
        }
        #expect(try await cases(store) == ["a 90 - 500 refunded", "b 200 210 - -"])
        try await store.consumption.settle(
            first.id, as: .notRefunded, replacing: .unknown, at: Timestamp(milliseconds: 700))
        #expect(try await cases(store, uuid: "a") == ["a 90 - 500 refunded"])
        #expect(try await cases(store, unsettled: true) == ["b 200 210 - -"])
        #expect(try await cases(store, since: 150) == ["b 200 210 - -"])
        #expect(try await cases(store, before: 200) == ["a 90 - 500 refunded"])
        #expect(try await cases(store, uuid: "b") == ["b 200 210 - -"])
        #expect(try await store.consumption.consumptionCases(filter, after: first.id, limit: 9).map(\.uuid) == ["b"])
    }

    @Test("Open requests are those that are neither answered nor too old", arguments: engines)
    func open(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let sandbox = stage.scope.sandbox
        for (uuid, time) in [("old", Int64(50)), ("a", 100), ("b", 200), ("answered", 90)] {
            try await receive(uuid, at: time, in: stage.scope, stage.store)
        }
        try await receive("late", at: 300, signed: 40, in: stage.scope, stage.store)
        try await receive("s", at: 300, in: sandbox, stage.store)
        try await stage.store.consumption.markAnswered("answered", at: Timestamp(milliseconds: 95))
        #expect(
            try await stage.store.consumption.openConsumptionRequests(since: Timestamp(milliseconds: 60)) == [
                OpenConsumptionRequests(scope: stage.scope, count: 2, oldest: Timestamp(milliseconds: 100)),
                OpenConsumptionRequests(scope: sandbox, count: 1, oldest: Timestamp(milliseconds: 300)),
            ])
    }

    @Test("Notifications are listed by app, environment, type, time and purchase, page by page", arguments: engines)
    func list(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let store = stage.store
        let sandbox = stage.scope.sandbox
        try await receive("a", "DID_RENEW", at: 100, signed: 90, in: stage.scope, store)
        try await receive("b", "REFUND", at: 200, about: "12", in: stage.scope, store)
        try await receive("c", "REFUND", at: 300, about: "11", in: sandbox, store)
        func list(_ change: (inout NotificationFilter) -> Void = { _ in }) async throws -> [String] {
            var filter = NotificationFilter()
            change(&filter)
            return try await store.notifications.notifications(matching: filter, after: 0, limit: 9).map(\.uuid)
        }
        #expect(try await list() == ["a", "b", "c"])
        #expect(try await list { $0.type = "REFUND" } == ["b", "c"])
        #expect(try await list { $0.environment = .sandbox } == ["c"])
        #expect(try await list { $0.since = Timestamp(milliseconds: 200) } == ["b", "c"])
        #expect(try await list { $0.purchases = ["11", "13"] } == ["a", "c"])
        #expect(try await list { $0.bundleId = BundleIdentifier(rawValue: "com.example.other") } == [])
        let page = try await store.notifications.notifications(matching: NotificationFilter(), after: 0, limit: 2)
        let last = try #require(page.last)
        let rest = try await store.notifications.notifications(matching: NotificationFilter(), after: last.id, limit: 2)
        #expect(page.map(\.uuid) == ["a", "b"] && rest.map(\.uuid) == ["c"])
        let stored = try #require(try await store.notifications.notification("a"))
        #expect(stored.text == "text of a" && stored.rawBody == nil && stored.summary == page[0])
        let summary = stored.summary
        #expect(summary.version == 2 && summary.type == "DID_RENEW" && summary.subtype == nil)
        #expect(summary.scope == stage.scope && summary.originalTransactionId == "11")
        #expect(summary.signedDate?.milliseconds == 90 && summary.receivedAt.milliseconds == 100)
        #expect(try await store.notifications.notification("x") == nil)
    }

    private static let token = "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"

    @Test(
        "A token leads to customers and to purchases without one, and no longer once the record has another token",
        arguments: engines)
    func tokens(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let store = stage.store
        func row(_ id: String, _ original: String, token: String?) -> TransactionRow {
            TransactionRow(id, original, token: token, text: "text \(id)")
        }
        try await store.customers.save(
            CustomerRow(
                [
                    row("11", "11", token: Self.token), row("12", "11", token: Self.token),
                    row("13", "13", token: Self.token),
                    row("14", "14", token: nil),
                ], asked: 1), of: stage.scope)
        try await receive("n", "DID_RENEW", at: 100, about: "21", in: stage.scope, store, token: Self.token)
        try await receive("m", "DID_RENEW", at: 100, about: "31", in: stage.scope, store)
        func found() async throws -> [String] {
            try await store.customers.customers(withToken: Self.token, limit: 9).map(\.identifier.rawValue)
        }
        #expect(try await found() == ["11", "21"])
        #expect(try await store.customers.customers(withToken: Self.token, limit: 1).map(\.scope) == [stage.scope])
        #expect(try await store.customers.customers(withToken: "", limit: 9).isEmpty)
        try await receive(
            "o", "DID_RENEW", at: 200, about: "21", in: stage.scope, store,
            token: "00000000-6f2b-4c8a-9d3e-7a1b2c3d4e5f")
        #expect(try await found() == ["11"])
        #expect(try await store.customers.transactionsWithoutToken(limit: 9).isEmpty)
    }

    @Test("A transaction that an earlier version stored gets its token once", arguments: engines)
    func earlier(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await receive("n", "DID_RENEW", at: 100, about: "21", in: stage.scope, stage.store, token: Self.token)
        let copy = try await stage.copied(on: engine)
        let customers = copy.store.customers
        #expect(try await customers.customers(withToken: Self.token, limit: 9).isEmpty)
        let rows = try await customers.transactionsWithoutToken(limit: 9)
        #expect(rows.map(\.text) == [CustomerDataFixture.jws("{\"transactionId\":\"21\"}")])
        try await customers.addTokens(rows.map { ($0.id, Self.token) })
        try await customers.addTokens(rows.map { ($0.id, "00000000-6f2b-4c8a-9d3e-7a1b2c3d4e5f") })
        #expect(try await customers.customers(withToken: Self.token, limit: 9).map(\.identifier.rawValue) == ["21"])
        #expect(try await customers.transactionsWithoutToken(limit: 9).isEmpty)
    }
}
