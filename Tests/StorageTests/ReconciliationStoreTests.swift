import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Customers that a reconciliation asks about, and reports of what it found")
struct ReconciliationStoreTests {
    private func date(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    private func transaction(
        _ id: String, _ original: String, ends: Int64?, at signed: Int64 = 10, refunded: Int64? = nil
    ) -> TransactionRow {
        let text = """
            {"transactionId":"\(id)","originalTransactionId":"\(original)","expiresDate":\(ends ?? 0),\
            "revocationDate":\(refunded ?? 0),"signedDate":\(signed)}
            """
        return TransactionRow(
            id, original, at: signed, isSubscription: ends != nil, revoked: refunded, ends: ends,
            text: CustomerDataFixture.jws(text))
    }

    private func customer(
        _ transactions: [TransactionRow], status: Int = 1, asked: Int64 = 100, signed: Int64 = 10
    ) -> CustomerRow {
        let originals = Set(transactions.map(\.originalTransactionId)).sorted()
        return CustomerRow(
            transactions, at: signed, asked: asked, statuses: originals.map { StatusRow($0, status, at: signed) })
    }

    /// The identifiers of all pages.
    private func ending(
        _ from: Int64, _ to: Int64, unpaid: Bool = false, begin: Int64 = 1_000, _ store: any Store
    ) async throws -> [String] {
        let interval = ReconciliationInterval(from: date(from), to: date(to), isOnlyUnpaid: unpaid)
        var found: [String] = []
        var position: ReconciliationPage.Position? = .start
        while let start = position {
            let page = try await store.reconciliations.customers(
                endingIn: interval, notAskedSince: date(begin), after: start)
            found += page.targets.map(\.identifier.rawValue)
            position = page.next
        }
        return found
    }

    /// The customers that need a lookup, as they are listed, and their number.
    private func waiting(
        before end: Int64 = 0, begin: Int64 = 1_000, in stage: StoreStage, apps: [BundleIdentifier]? = nil
    ) async throws -> [String] {
        let need = LookupNeed(of: apps ?? [stage.scope.bundleId], before: date(end), at: date(2_592_000_000))
        let page = try await stage.store.reconciliations.customers(
            with: need, notAskedSince: date(begin), after: .newest)
        return page.targets.map(\.identifier.rawValue)
            + ["\(try await stage.store.reconciliations.countCustomers(with: need))"]
    }

    @Test(
        "Customers are listed by the end of their newest period, without those that were asked about",
        arguments: engines)
    func ending(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope) = (stage.store, stage.scope)
        // Renewed: only the newest period counts.
        try await store.customers.save(
            customer([transaction("1", "1", ends: 500), transaction("2", "1", ends: 900)]), of: scope)
        try await store.customers.save(customer([transaction("3", "3", ends: 600)], status: 3), of: scope)
        try await store.customers.save(customer([transaction("4", "4", ends: 550)], asked: 2_000), of: scope)
        try await store.customers.save(customer([transaction("5", "5", ends: nil)]), of: scope)
        // Known only from a notification.
        _ = try await store.notifications.save(
            NotificationRow("n", at: 10), NotificationUpdate(transaction: transaction("6", "6", ends: 580)), of: scope)
        #expect(try await ending(500, 901, store) == ["6", "3", "1"])
        #expect(try await ending(500, 900, store) == ["6", "3"])
        #expect(try await ending(581, 600, store).isEmpty)
        #expect(try await ending(0, 1_000, unpaid: true, store) == ["3"])
        #expect(try await ending(0, 1_000, begin: 3_000, store) == ["4", "6", "3", "1"])
        // A later period that a notification reports moves the customer.
        _ = try await store.notifications.save(
            NotificationRow("m", at: 20), NotificationUpdate(transaction: transaction("7", "3", ends: 5_000, at: 20)),
            of: scope)
        #expect(try await ending(500, 901, store) == ["6", "1"])
        #expect(try await ending(0, 9_000, store) == ["6", "1", "3"])
    }

    @Test("Every customer is on one page, also if many subscriptions end together", arguments: engines)
    func pages(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let count = 2 * ReconciliationPage.size + 3
        let transactions = (0..<count).map { transaction("\($0 + 1)", "\($0 + 1)", ends: 500 + Int64($0 % 2)) }
        try await stage.save(customer(transactions))
        let found = try await ending(0, 1_000, stage.store)
        #expect(found.count == count && Set(found).count == count)
        try await stage.save(customer(transactions, asked: 1_000))
        #expect(try await ending(0, 1_000, stage.store).isEmpty)
    }

    @Test("Customers that a refund marked need a lookup until one was stored", arguments: engines)
    func marked(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope) = (stage.store, stage.scope)
        let rows = ["1", "2"].map { transaction($0, $0, ends: 500) }
        for row in rows { try await store.customers.save(customer([row]), of: scope) }
        #expect(try await waiting(in: stage) == ["0"])
        let refund = RefundRow(transaction: transaction("2", "2", ends: 500, at: 30, refunded: 25), date: date(25))
        #expect(
            try await store.refunds.save(
                [refund], in: scope, at: date(1_000), source: .reconcile, reportingTo: []) == 1)
        #expect(try await waiting(in: stage) == ["2", "1"])
        // Looked up since the run began, but it still needs a lookup.
        #expect(try await waiting(begin: 50, in: stage) == ["1"])
        try await store.customers.save(customer([refund.transaction], asked: 1_001, signed: 31), of: scope)
        #expect(try await waiting(begin: 2_000, in: stage) == ["0"])
    }

    @Test(
        "Customers who were looked up before a time need a lookup, those of the last one first, on pages",
        arguments: engines)
    func early(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope) = (stage.store, stage.scope)
        // The first one has not been looked up for more than the 30 days.
        for (id, asked) in [("1", -1), ("2", 200), ("3", 400), ("4", 300), ("5", 500)] as [(String, Int64)] {
            try await store.customers.save(customer([transaction(id, id, ends: 500)], asked: asked), of: scope)
        }
        #expect(try await waiting(before: 500, in: stage) == ["3", "4", "2", "3"])
        #expect(try await waiting(before: 500, in: stage, apps: []) == ["0"])
        // One that was looked up, and one that the App Store does not know.
        try await store.customers.save(customer([transaction("3", "3", ends: 500)], asked: 600), of: scope)
        let need = LookupNeed(of: [scope.bundleId], before: date(500), at: date(2_592_000_000))
        let page = try await store.reconciliations.customers(with: need, notAskedSince: date(0), after: .newest)
        try await store.reconciliations.markUnknown(try #require(page.targets.first?.customer))
        #expect(try await waiting(before: 500, in: stage) == ["2", "1"])
        #expect(try await stage.find(["4"])?.needsLookup == true)
        // Known again.
        try await store.customers.save(customer([transaction("4", "4", ends: 500)], asked: 700), of: scope)
        #expect(try await stage.find(["4"])?.needsLookup == false)
        let count = ReconciliationPage.size + 3
        try await withThrowingDiscardingTaskGroup { group in
            for id in 10..<(10 + count) {
                let row = customer([transaction("\(id)", "\(id)", ends: 500)], asked: 100 + Int64(id % 2))
                group.addTask { try await store.customers.save(row, of: scope) }
            }
        }
        var (found, position): ([String], ReconciliationPage.Position?) = ([], .newest)
        while let start = position {
            let page = try await store.reconciliations.customers(with: need, notAskedSince: date(0), after: start)
            found += page.targets.map(\.identifier.rawValue)
            position = page.next
        }
        #expect(found.count == count + 1 && Set(found).count == count + 1 && found.first == "2")
    }

    @Test("The ends of transactions of an earlier version are added once", arguments: engines)
    func expiries(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([transaction("1", "1", ends: 700), transaction("2", "2", ends: nil)]))
        #expect(try await stage.store.reconciliations.transactionsWithoutExpiry(limit: 9).isEmpty)
        let copy = try await stage.copied(on: engine)
        let store = copy.store
        let rows = try await store.reconciliations.transactionsWithoutExpiry(limit: 9)
        #expect(rows.count == 2 && rows.first?.text == transaction("1", "1", ends: 700).text)
        #expect(try await ending(0, 1_000, store).isEmpty)
        try await store.reconciliations.addExpiries([(rows[0].id, date(700)), (rows[1].id, nil)])
        try await store.reconciliations.addExpiries([(rows[0].id, date(1))])
        #expect(try await store.reconciliations.transactionsWithoutExpiry(limit: 9).isEmpty)
        #expect(try await ending(0, 1_000, store) == ["1"])
    }

    @Test("The state of the last reconciliation is stored", arguments: engines)
    func state(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        #expect(try await stage.store.reconciliations.lastReconciliation() == nil)
        var row = ReconciliationRow(startedAt: date(5), window: 60)
        try await stage.store.reconciliations.save(row)
        #expect(try await stage.store.reconciliations.lastReconciliation() == row)
        (row.endedAt, row.continuesAt, row.notifications, row.customers) = (date(6), date(7), 1, 2)
        (row.different, row.refunds, row.failed) = (3, 4, 5)
        row.history = [stage.scope: date(8), stage.scope.sandbox: date(9)]
        row.refunded = [stage.scope: 4_711]
        try await stage.store.reconciliations.save(row)
        let reopened = try await stage.reopened()
        #expect(try await reopened.reconciliations.lastReconciliation() == row)
    }

    // MARK: - Reports

    /// Delivers what is due, and returns the bodies.
    private func reports(_ store: any Store, _ target: ForwardingTargetKey) async throws -> [JSONValue] {
        var bodies: [JSONValue] = []
        while let delivery = try await store.outbox.claim(to: target, by: "a", at: date(80_000), limit: 1).first {
            bodies.append(try JSONValue(reading: try #require(delivery.report)))
            #expect(bodies.last?["reportUUID"]?.text == delivery.uuid)
            try await store.outbox.settle(delivery, .delivered(bodies: 1), at: date(80_000))
        }
        return bodies
    }

    @Test(
        "What a lookup of a reconciliation finds is queued once, also without events, and erased with its customer",
        arguments: engines, [true, false])
    func lookups(on engine: StoreTestEngine, recordsEvents: Bool) async throws {
        let stage = try await StoreStage(engine)
        let store = recordsEvents ? stage.store : try await stage.reopened(recordsEvents: false)
        let (scope, target) = (stage.scope, stage.scope.target("camel"))
        func reconcile(_ row: CustomerRow) async throws -> Bool? {
            try await store.customers.save(row, of: scope, source: .reconcile, reportingTo: [target])
        }
        let first = transaction("1", "1", ends: 500)
        try await store.customers.save(customer([first]), of: scope)
        // Signed again without a change.
        let again = transaction("1", "1", ends: 500, at: 20)
        #expect(try await reconcile(customer([again], asked: 200, signed: 20)) == false)
        #expect(try await reports(store, target).isEmpty)
        let renewed = transaction("2", "1", ends: 900, at: 30)
        #expect(try await reconcile(customer([again, renewed], asked: 300, signed: 30)) == true)
        #expect(try await reconcile(customer([again, renewed], asked: 400, signed: 30)) == false)
        let bodies = try await reports(store, target)
        let body = try #require(bodies.first)
        #expect(bodies.count == 1)
        #expect(body["notificationType"] == nil && body["signedPayload"] == nil && body["verified"] == .bool(true))
        #expect(body["source"]?.text == "reconcile" && body["type"]?.text == "lookup")
        #expect(body["bundleId"]?.text == "com.example.app" && body["environment"]?.text == "Production")
        #expect(body["transactions"]?.elements?.map { $0["transactionId"]?.text } == ["2"])
        // An older record does not replace a newer one.
        let old = transaction("2", "1", ends: 800, at: 25)
        #expect(try await reconcile(customer([again, old], asked: 500, signed: 25)) == false)
        let id = try #require(TransactionIdentifier(rawValue: "2"))
        #expect(try await store.customers.transaction(id, in: scope) == renewed.text)
        // A report is no notification.
        #expect(try await store.notifications.notificationCount() == 0)
        #expect(try await store.notifications.notifications(matching: NotificationFilter(), after: 0, limit: 9).isEmpty)
        #expect(try await store.outbox.deliveries().count == 1)
        _ = try await store.personalData.erase(ErasureRequest(.transaction(id)), at: date(600))
        #expect(try await store.outbox.deliveries().isEmpty)
        if !recordsEvents { await store.close() }
    }

    @Test("A refund that was not known is queued; one that a notification reported is not", arguments: engines)
    func refunds(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, scope, target) = (stage.store, stage.scope, stage.scope.target("camel"))
        let known = transaction("1", "1", ends: 500, at: 20, refunded: 15)
        _ = try await store.notifications.save(
            NotificationRow("n", "REFUND", at: 20), NotificationUpdate(transaction: known), of: scope)
        try await store.customers.save(customer([known, transaction("2", "2", ends: 600)], signed: 20), of: scope)
        // A history signs every refund again.
        let found = [
            transaction("1", "1", ends: 500, at: 30, refunded: 15),
            transaction("2", "2", ends: 600, at: 30, refunded: 28),
        ].map { RefundRow(transaction: $0, date: $0.revocation?.date ?? date(0)) }
        for expected in [1, 0] {
            let unknown = try await store.refunds.save(
                found, in: scope, at: date(1_000), source: .reconcile, reportingTo: [target])
            #expect(unknown == expected)
        }
        let bodies = try await reports(store, target)
        #expect(bodies.map { $0["type"]?.text } == ["refund"])
        #expect(bodies.first?["revocations"]?.elements?.map { $0["transactionId"]?.text } == ["2"])
    }
}
