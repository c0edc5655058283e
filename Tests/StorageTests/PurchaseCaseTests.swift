import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import ReceiptBridgeTestSupport
import Testing

@Suite("Cases of one purchase")
struct PurchaseCaseTests {
    /// A notification about a transaction, signed at `date`.
    private struct Report {
        var uuid: String
        var type = "CONSUMPTION_REQUEST"
        var date: Int64
        var transaction = "11"
    }

    /// Stores a notification and brings the cases up to date, as a server does.
    private func receive(
        _ report: Report, purchase: String = "11", at time: Int64 = 1_000, in scope: AppScope, _ store: any Store
    ) async throws {
        let transaction = "{\"transactionId\":\"\(purchase)\(report.transaction)\"}"
        let text = CustomerDataFixture.jws(
            "{\"signedDate\":\(report.date),\"data\":{\"signedTransactionInfo\":\"\(CustomerDataFixture.jws(transaction))\"}}"
        )
        _ = try await store.notifications.save(
            NotificationRow("\(purchase) \(report.uuid)", report.type, at: time, signed: report.date, text: text),
            NotificationUpdate(
                transaction: CustomerDataFixture.transaction(
                    "\(purchase)\(report.transaction)", purchase, at: report.date)),
            of: scope, for: [])
        #expect(PurchaseCases.areChanged(by: report.type))
        try await PurchaseCases(store).update(purchase, in: scope, at: Timestamp(milliseconds: time))
    }

    /// Returns `uuid answeredAt decision` of each case, sorted.
    private func cases(of purchase: String = "11", in scope: AppScope, _ store: any Store) async throws -> [String] {
        try await store.consumption.consumptionCases(about: purchase, in: scope).map { found in
            let answer = found.answeredAt.map { "\($0.milliseconds)" } ?? "-"
            return "\(found.uuid.split(separator: " ")[1]) \(answer) \(found.decision?.rawValue ?? "-")"
        }.sorted()
    }

    @Test(
        "An answer closes all requests about its transaction that were signed before it, whenever they arrive",
        arguments: engines)
    func answer(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope) = (stage.store, stage.scope)
        for (uuid, date, transaction) in [("a", Int64(100), "11"), ("b", 200, "11"), ("renewal", 150, "12")] {
            try await receive(Report(uuid: uuid, date: date, transaction: transaction), in: scope, store)
        }
        try await store.consumption.markAnswered("11 b", at: Timestamp(milliseconds: 250))
        try await PurchaseCases(store).update("11", in: scope, at: Timestamp(milliseconds: 250))
        #expect(try await cases(in: scope, store) == ["a 250 -", "b 250 -", "renewal - -"])
        try await receive(Report(uuid: "late", date: 240), in: scope, store)
        try await receive(Report(uuid: "new", date: 260), in: scope, store)
        #expect(try await cases(in: scope, store) == ["a 250 -", "b 250 -", "late 250 -", "new - -", "renewal - -"])
        let open = try await store.consumption.openConsumptionRequests(since: Timestamp(milliseconds: 0))
        #expect(open == [OpenConsumptionRequests(scope: scope, count: 2, oldest: Timestamp(milliseconds: 150))])
    }

    @Test("A stored decision settles the cases before it at once, and the last one counts", arguments: engines)
    func decision(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope) = (stage.store, stage.scope)
        let sandbox = scope.sandbox
        try await receive(Report(uuid: "a", date: 100), in: scope, store)
        try await receive(Report(uuid: "b", date: 200), in: scope, store)
        try await receive(Report(uuid: "other", date: 100, transaction: "12"), in: scope, store)
        try await receive(Report(uuid: "sandbox", date: 100), purchase: "13", in: sandbox, store)
        try await receive(Report(uuid: "c", type: "REFUND_DECLINED", date: 300), in: scope, store)
        #expect(try await cases(in: scope, store) == ["a - notRefunded", "b - notRefunded", "other - -"])
        try await receive(Report(uuid: "again", date: 350), in: scope, store)
        try await receive(Report(uuid: "d", type: "REFUND", date: 400), in: scope, store)
        #expect(try await cases(in: scope, store) == ["a - refunded", "again - refunded", "b - refunded", "other - -"])
        try await receive(Report(uuid: "e", type: "REFUND_REVERSED", date: 500), in: scope, store)
        try await receive(Report(uuid: "f", type: "REFUND", date: 450), in: scope, store)
        #expect(
            try await cases(in: scope, store)
                == ["a - notRefunded", "again - notRefunded", "b - notRefunded", "other - -"])
        let open = try await store.consumption.openConsumptionRequests(since: Timestamp(milliseconds: 0))
        #expect(open.map(\.count) == [1, 1])
    }

    @Test("The order of arrival does not matter", arguments: engines)
    func order(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        var orders: [[Report]] = [[]]
        for report in [
            Report(uuid: "a", date: 100), Report(uuid: "b", date: 500),
            Report(uuid: "c", type: "REFUND_DECLINED", date: 300), Report(uuid: "d", type: "REFUND", date: 400),
        ] {
            orders = orders.flatMap { order in
                (0...order.count).map { Array(order[..<$0]) + [report] + Array(order[$0...]) }
            }
        }
        #expect(orders.count == 24)
        for (index, order) in orders.enumerated() {
            let purchase = "2\(index)"
            for report in order { try await receive(report, purchase: purchase, in: stage.scope, stage.store) }
            let found = try await cases(of: purchase, in: stage.scope, stage.store)
            #expect(found == ["a - refunded", "b - -"], "\(order.map(\.uuid))")
        }
    }

    @Test("Two decisions that arrive at once end with the last one", arguments: engines)
    func concurrent(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope) = (stage.store, stage.scope)
        for index in 0..<10 {
            let purchase = "3\(index)"
            try await receive(Report(uuid: "a", date: 100), purchase: purchase, in: scope, store)
            try await concurrently([("REFUND_DECLINED", Int64(300)), ("REFUND", 400), ("REFUND_REVERSED", 200)]) {
                (type, date) in
                try await receive(Report(uuid: type, type: type, date: date), purchase: purchase, in: scope, store)
            }
            #expect(try await cases(of: purchase, in: scope, store) == ["a - refunded"])
        }
    }
}
