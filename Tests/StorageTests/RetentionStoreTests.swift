import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import ReceiptBridgeTestSupport
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
                ? RevocationRow(id, at: ago(days).milliseconds, reason: 0) : nil,
            text: "\(id) \(days)")
    }

    private func save(_ ids: [String], asked days: Int64, on stage: StoreStage) async throws {
        try await stage.save(
            CustomerRow(
                ids.map { transaction($0, days) }, at: ago(days).milliseconds,
                statuses: ids.map {
                    StatusRow($0, 2, at: ago(days).milliseconds)
                }, aliases: ["9\(ids[0])"]))
    }

    private func receive(
        _ uuid: String, _ days: Int64, about id: String? = nil, to targetKeys: [ForwardingTargetKey] = [],
        on stage: StoreStage
    ) async throws {
        let row = NotificationRow(
            uuid: uuid, version: 2, type: "DID_RENEW", subtype: nil, signedDate: ago(days), receivedAt: ago(days),
            text: uuid, rawBody: [1])
        try await stage.receive(row, NotificationUpdate(transaction: id.map { transaction($0, days) }), for: targetKeys)
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

    @Test("A time far ahead of the newest signed record is doubted", arguments: engines)
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
    }

    @Test("A purchase stays readable after the notification that reported it has expired", arguments: engines)
    func outlived(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let text = CustomerDataFixture.jws("{\"transactionId\":\"1\",\"productId\":\"com.example.app.yearly\"}")
        let row = TransactionRow("1", at: ago(500).milliseconds, text: text)
        let renewal = RenewalRow(
            "1", at: ago(500).milliseconds,
            CustomerDataFixture.jws("{\"originalTransactionId\":\"1\",\"autoRenewStatus\":1}"))
        let notification = NotificationRow(
            "n", "SUBSCRIBED", at: ago(500).milliseconds,
            text: CustomerDataFixture.jws(
                "{\"data\":{\"signedTransactionInfo\":\"\(text)\",\"signedRenewalInfo\":\"\(renewal.text)\"}}"))
        try await stage.receive(notification, NotificationUpdate(transaction: row, renewal: renewal))
        #expect(try await expire(on: stage) == ["notifications 1"])
        let id = try #require(TransactionIdentifier(rawValue: "1"))
        #expect(try await stage.store.customers.transaction(id, in: stage.scope) == text)
        // After a lookup there is a customer with that renewal info.
        try await stage.save(
            CustomerRow(
                [transaction("1", 600)], at: ago(600).milliseconds, asked: ago(1).milliseconds,
                statuses: [StatusRow("1", at: ago(600).milliseconds)]))
        let customer = try await stage.find(["1"])
        #expect(customer?.transactions == [text] && customer?.subscriptions.map(\.renewal) == [renewal.text])
    }

    /// Stores a refund, a receipt's identifiers and comparisons of some days ago.
    private func saveOperations(_ id: String, _ days: Int64, on stage: StoreStage) async throws {
        try await stage.store.refunds.save(
            [RefundRow(transaction: transaction(id, days, isRefunded: true), date: ago(days))], in: stage.scope,
            at: ago(days))
        try await stage.store.revocations.saveIdentifiers(
            CustomerIdentifiers(["\(days)"]), of: Array(id.utf8),
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

    @Test("Expired rows are deleted with their dependents; newer rows and revocations are kept", arguments: engines)
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
        arguments: engines)
    func deliveries(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let outbox = stage.store.outbox
        let targetKey = stage.scope.target()
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
        arguments: engines)
    func batches(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let total = 2_500
        try await concurrently(0..<total) { index in try await receive("\(index)", 500, on: stage) }
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
