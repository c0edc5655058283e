import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Retention")
struct RetentionStoreTests {
    private static let day: Int64 = 86_400_000
    private static let now = Timestamp(milliseconds: 20_000 * day)

    private func ago(_ days: Int64) -> Timestamp { Self.now.advanced(by: .milliseconds(-days * Self.day)) }

    private func transaction(_ id: String, _ days: Int64, isRefunded: Bool = false) -> TransactionRow {
        TransactionRow(
            transactionId: id, originalTransactionId: id, appTransactionId: nil, isSubscription: true,
            signedDate: ago(days),
            revocation: isRefunded
                ? RevocationRow(transactionId: id, webOrderLineItemId: nil, date: ago(days), reason: 0) : nil,
            text: "\(id) \(days)")
    }

    private func save(_ ids: [String], asked days: Int64, on stage: StoreStage) async throws {
        try await stage.store.customers.save(
            CustomerRow(
                askedAt: ago(days), signedDate: ago(days), appAppleId: nil, revision: "r",
                transactions: ids.map { transaction($0, days) },
                statuses: ids.map {
                    StatusRow(originalTransactionId: $0, status: 2, subscriptionGroupIdentifier: nil, clock: ago(days))
                }, renewals: [], aliases: ["9\(ids[0])"]), of: stage.scope)
    }

    private func receive(
        _ uuid: String, _ days: Int64, about id: String? = nil, to targetKeys: [ForwardingTargetKey] = [],
        on stage: StoreStage
    ) async throws {
        let row = NotificationRow(
            uuid: uuid, version: 2, type: "DID_RENEW", subtype: nil, signedDate: ago(days), receivedAt: ago(days),
            text: uuid, rawBody: [1])
        _ = try await stage.store.notifications.save(
            row, NotificationUpdate(transaction: id.map { transaction($0, days) }), of: stage.scope, for: targetKeys)
    }

    private func expire(
        _ retention: Retention = Retention(), dry: Bool = false, on stage: StoreStage
    ) async throws -> [String] {
        let data = stage.store.personalData
        let kinds =
            try await dry ? data.expired(retention, at: Self.now) : data.expire(retention, at: Self.now) { _ in true }
        return kinds.map { "\($0.name) \($0.count)" }
    }

    private func footprint(_ id: String, on stage: StoreStage) async throws -> [String] {
        let id = try #require(TransactionIdentifier(rawValue: id))
        // Events have a retention of their own, by the clock of the store.
        return try await stage.store.personalData.footprint(of: ErasureRequest(.transaction(id))).kinds
            .filter { $0.name != "events" }.map { "\($0.name) \($0.count)" }
    }

    private func stored(_ ids: [String], on stage: StoreStage) async throws -> [String] {
        var texts: [String] = []
        for id in ids {
            let id = try #require(TransactionIdentifier(rawValue: id))
            if let text = try await stage.store.customers.transaction(id, in: stage.scope) { texts.append(text) }
        }
        return texts
    }

    @Test("A time far ahead of the newest signed record is doubted", arguments: StoreTestEngine.available)
    func doubt(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let data = stage.store.personalData
        #expect(try await data.doubt(about: Self.now) == nil)
        try await receive("a", 102, on: stage)
        let doubt = try await data.doubt(about: Self.now)
        #expect(doubt?.contains("signed on 2024-06-24") == true, "\(doubt ?? "none")")
        #expect(try await data.doubt(about: ago(3)) == nil)
        try await save(["1"], asked: 99, on: stage)
        #expect(try await data.newestSignedDate() == ago(99))
        #expect(try await data.doubt(about: Self.now) == nil)
        await stage.store.close()
    }

    @Test(
        "A purchase stays readable after the notification that reported it has expired",
        arguments: StoreTestEngine.available)
    func outlived(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let text = CustomerDataFixture.jws("{\"transactionId\":\"1\",\"productId\":\"com.example.app.yearly\"}")
        let row = TransactionRow(
            transactionId: "1", originalTransactionId: "1", appTransactionId: nil, isSubscription: true,
            signedDate: ago(500), revocation: nil, text: text)
        let renewal = RenewalRow(
            originalTransactionId: "1", signedDate: ago(500),
            text: CustomerDataFixture.jws("{\"originalTransactionId\":\"1\",\"autoRenewStatus\":1}"))
        let notification = NotificationRow(
            uuid: "n", version: 2, type: "SUBSCRIBED", subtype: nil, signedDate: ago(500), receivedAt: ago(500),
            text: CustomerDataFixture.jws(
                "{\"data\":{\"signedTransactionInfo\":\"\(text)\",\"signedRenewalInfo\":\"\(renewal.text)\"}}"))
        _ = try await stage.store.notifications.save(
            notification, NotificationUpdate(transaction: row, renewal: renewal), of: stage.scope)
        #expect(try await expire(on: stage) == ["notifications 1"])
        let id = try #require(TransactionIdentifier(rawValue: "1"))
        #expect(try await stage.store.customers.transaction(id, in: stage.scope) == text)
        // After a lookup there is a customer with that renewal info.
        try await stage.store.customers.save(
            CustomerRow(
                askedAt: ago(1), signedDate: ago(600), appAppleId: nil, revision: "r",
                transactions: [transaction("1", 600)],
                statuses: [
                    StatusRow(originalTransactionId: "1", status: 1, subscriptionGroupIdentifier: nil, clock: ago(600))
                ], renewals: [], aliases: []), of: stage.scope)
        let keys = CustomerIdentifiers(originalTransactionIds: ["1"], transactionIds: [])
        let customer = try await stage.store.customers.customer(of: keys, in: stage.scope)
        #expect(customer?.transactions == [text] && customer?.subscriptions.map(\.renewal) == [renewal.text])
    }

    /// Stores a refund, a receipt's identifiers and comparisons of some days ago.
    private func saveOperations(_ id: String, _ days: Int64, on stage: StoreStage) async throws {
        try await stage.store.refunds.save(
            [RefundRow(transaction: transaction(id, days, isRefunded: true), date: ago(days))], in: stage.scope,
            at: ago(days))
        try await stage.store.revocations.saveIdentifiers(
            CustomerIdentifiers(originalTransactionIds: ["\(days)"], transactionIds: []), of: Array(id.utf8),
            at: ago(days))
        let (bundleId, environment) = (stage.scope.bundleId.rawValue, stage.scope.environment.rawValue)
        try await stage.store.comparisons.add(
            comparisons: [
                ComparisonCount(
                    day: 20_000 - days, bundleId: bundleId, environment: environment, outcome: "equal", count: 1)
            ],
            differences: [
                DifferenceCount(
                    day: 20_000 - days, bundleId: bundleId, environment: environment, verdict: "expected", rule: "r",
                    path: "p", count: 1, first: 1, last: 1, examples: [[1]])
            ],
            customers: [
                ComparedCustomers(day: 20_000 - days, bundleId: bundleId, environment: environment, digests: [days])
            ])
    }

    @Test(
        "Expired rows are deleted with their dependents; newer rows and revocations are kept",
        arguments: StoreTestEngine.available)
    func kinds(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let store = stage.store
        try await save(["11", "12"], asked: 900, on: stage)
        try await save(["21"], asked: 799, on: stage)
        try await save(["31"], asked: 900, on: stage)
        try await receive("n2", 700, about: "31", on: stage)
        try await receive("n3", 100, about: "31", on: stage)
        try await receive("n4", 900, about: "41", on: stage)
        try await receive("n5", 399, about: "51", on: stage)
        try await saveOperations("61", 900, on: stage)
        try await saveOperations("62", 10, on: stage)

        let expected = [
            "notifications 2", "superseded 2", "customers 1", "transactions 2", "learntIdentifiers 1",
            "comparisons 3",
        ]
        // A dry run does not count the records of a customer twice.
        #expect(try await expire(dry: true, on: stage) == expected)
        #expect(try await expire(on: stage) == expected)
        #expect(try await expire(on: stage).isEmpty)
        var uuids: [String] = []
        for uuid in ["n2", "n3", "n4", "n5"] where try await store.notifications.holdsNotification(uuid) {
            uuids.append(uuid)
        }
        #expect(uuids == ["n3", "n5"])
        #expect(
            try await stored(["11", "12", "21", "31", "41", "51", "61", "62"], on: stage) == [
                "21 799", "31 100", "51 399", "62 10",
            ])
        // Neither the statuses nor the aliases of the deleted customer are left.
        for id in ["11", "12", "911", "41"] { #expect(try await footprint(id, on: stage) == [], "\(id)") }
        for id in ["921", "931"] {
            let kinds = try await footprint(id, on: stage)
            #expect(kinds.contains("subscriptions 1") && kinds.contains("companions 1"), "\(id): \(kinds)")
        }
        #expect(try await footprint("61", on: stage) == ["revocations 1"])
        let receipts = try await store.revocations.customerIdentifiersByReceipt(limit: 9)
        #expect(receipts.map(\.keys.originalTransactionIds) == [[try #require(TransactionIdentifier(rawValue: "10"))]])
        let remaining = try await store.comparisons.comparisons(since: 0)
        #expect(remaining.comparisons.count == 1 && remaining.differences.map(\.examples) == [[[1]]])
        #expect(try await store.comparisons.comparedCustomers(since: 0).map(\.count) == [1])
    }

    @Test(
        "Completed deliveries expire early; waiting and abandoned ones stay as long as their notification",
        arguments: StoreTestEngine.available)
    func deliveries(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let outbox = stage.store.outbox
        let targetKey = ForwardingTargetKey(bundleId: stage.scope.bundleId, form: "raw", url: "http://127.0.0.1:9/")
        for (uuid, days) in [("done", Int64(31)), ("dead", 32), ("waiting", 33), ("new", 2), ("gone", 401)] {
            try await receive(uuid, days, to: [targetKey], on: stage)
        }
        // As if the store's clock had been the servers' one.
        try await outbox.write([SQLStatement("UPDATE delivery SET queuedAt = createdAt")])
        for delivery in try await outbox.claim(to: targetKey, by: "test", at: Self.now) {
            switch delivery.uuid {
            case "done", "new": try await outbox.settle(delivery, .delivered(bodies: 1), at: Self.now)
            case "dead": try await outbox.settle(delivery, .abandoned(code: "x", bodiesSent: 0), at: Self.now)
            default: break
            }
        }
        #expect(try await expire(on: stage) == ["notifications 1", "forwardedDeliveries 1"])
        #expect(try await outbox.deliveries().map(\.uuid) == ["dead", "waiting", "new"])
        #expect(try await stage.store.notifications.notificationCount() == 4)
    }

    @Test(
        "Many rows are deleted in small batches that can be stopped, and `nil` keeps rows forever",
        arguments: StoreTestEngine.available)
    func batches(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let total = 2_500
        try await withThrowingTaskGroup { group in
            for index in 0..<total { group.addTask { try await receive("\(index)", 500, on: stage) } }
            try await group.waitForAll()
        }
        var forever = Retention()
        forever.notifications = nil
        #expect(try await expire(forever, on: stage).isEmpty)
        var batches = 0
        let some = try await stage.store.personalData.expire(Retention(), at: Self.now) { time in
            batches += 1
            return batches < 3
        }
        let count = try #require(some.first?.count)
        #expect(count < 2_000)
        #expect(try await stage.store.notifications.notificationCount() == total - count)
        #expect(try await expire(on: stage) == ["notifications \(total - count)"])
    }
}
