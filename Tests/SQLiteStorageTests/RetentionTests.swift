import Foundation
import GRDB
import SQLiteStorage
import Storage
import AppStoreTypes
import TestSupport
import Testing

@Suite("Retention")
struct RetentionTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    private let scope: AppScope
    private static let day: Int64 = 86_400_000
    private static let now = Timestamp(milliseconds: 20_000 * day)

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        scope = AppScope(bundleId: bundleId, environment: .production)
    }

    private func ago(_ days: Int64) -> Timestamp { Self.now.advanced(byMilliseconds: -days * Self.day) }

    private func transaction(_ id: String, _ days: Int64, isRefunded: Bool = false) -> TransactionRow {
        TransactionRow(
            transactionId: id, originalTransactionId: id, appTransactionId: nil, isSubscription: true,
            signedDate: ago(days),
            revocation: isRefunded
                ? RevocationRow(transactionId: id, webOrderLineItemId: nil, date: ago(days), reason: 0) : nil,
            text: "\(id) \(days)")
    }

    private func save(_ ids: [String], asked days: Int64) async throws {
        try await store.save(
            CustomerRow(
                askedAt: ago(days), signedDate: ago(days), appAppleId: nil, revision: "r",
                transactions: ids.map { transaction($0, days) },
                statuses: ids.map {
                    StatusRow(
                        originalTransactionId: $0, status: 2, subscriptionGroupIdentifier: nil, clock: ago(days))
                }, renewals: [], aliases: ["c\(ids)"]), of: scope)
    }

    /// A compact JWS in Apple's format.
    private func jws(_ payload: String) -> String {
        func text(_ bytes: [UInt8]) -> String {
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        return "\(text(Array("{\"alg\":\"ES256\"}".utf8))).\(text(Array(payload.utf8)))."
            + text((0..<64).map { UInt8($0) })
    }

    @Test("A purchase stays readable after the notification that reported it has expired")
    func outlived() async throws {
        let reported = transaction("1", 500)
        let text = jws("{\"transactionId\":\"1\",\"productId\":\"com.example.app.yearly\"}")
        let row = TransactionRow(
            transactionId: "1", originalTransactionId: "1", appTransactionId: nil, isSubscription: true,
            signedDate: reported.signedDate, revocation: nil, text: text)
        let renewal = RenewalRow(
            originalTransactionId: "1", signedDate: reported.signedDate,
            text: jws("{\"originalTransactionId\":\"1\",\"autoRenewStatus\":1}"))
        let notification = NotificationRow(
            uuid: "n", version: 2, type: "SUBSCRIBED", subtype: nil, signedDate: ago(500), receivedAt: ago(500),
            text: jws(
                "{\"data\":{\"signedTransactionInfo\":\"\(text)\",\"signedRenewalInfo\":\"\(renewal.text)\"}}"))
        _ = try await store.save(notification, NotificationUpdate(transaction: row, renewal: renewal), of: scope)
        #expect(try await expire() == ["notifications 1"])
        let id = try #require(TransactionIdentifier(rawValue: "1"))
        #expect(try await store.transaction(id, in: scope) == text)
        // After a lookup there is a customer with that renewal info.
        try await store.save(
            CustomerRow(
                askedAt: ago(1), signedDate: ago(600), appAppleId: nil, revision: "r",
                transactions: [transaction("1", 600)],
                statuses: [
                    StatusRow(
                        originalTransactionId: "1", status: 1, subscriptionGroupIdentifier: nil, clock: ago(600))
                ], renewals: [], aliases: []), of: scope)
        let keys = CustomerIdentifiers(originalTransactionIds: ["1"], transactionIds: [])
        let customer = try await store.customer(of: keys, in: scope)
        #expect(customer?.transactions == [text] && customer?.subscriptions.map(\.renewal) == [renewal.text])
    }

    private func receive(
        _ uuid: String, _ days: Int64, about id: String? = nil, to targetKeys: [ForwardingTargetKey] = []
    )
        async throws
    {
        let row = NotificationRow(
            uuid: uuid, version: 2, type: "DID_RENEW", subtype: nil, signedDate: ago(days), receivedAt: ago(days),
            text: uuid, rawBody: [1])
        _ = try await store.save(
            row, NotificationUpdate(transaction: id.map { transaction($0, days) }), of: scope, for: targetKeys)
    }

    private func expire(_ retention: Retention = Retention(), dry: Bool = false) async throws -> [String] {
        let kinds =
            try await dry ? store.expired(retention, at: Self.now) : store.expire(retention, at: Self.now) { _ in true }
        return kinds.map { "\($0.name) \($0.count)" }
    }

    private func texts(_ sql: String) throws -> [String] {
        try DatabaseQueue(path: store.path).read { try String.fetchAll($0, sql: sql) }
    }

    @Test("Expired rows are deleted with their dependents; newer rows and revocations are kept")
    func kinds() async throws {
        try await save(["old", "older"], asked: 900)
        try await save(["asked"], asked: 799)
        try await save(["heard"], asked: 900)
        try await receive("n2", 700, about: "heard")
        try await receive("n3", 100, about: "heard")
        try await receive("n4", 900, about: "nobody")
        try await receive("n5", 399, about: "somebody")
        for (id, days) in [("refundedLong", Int64(900)), ("refunded", 10)] {
            let target = RefundTarget(
                scope: scope, identifier: try #require(TransactionIdentifier(rawValue: "\(days)")), revision: nil)
            let row = RefundRow(transaction: transaction(id, days, isRefunded: true), date: ago(days))
            try await store.save([row], of: target, revision: nil, at: ago(days))
            try await store.save(
                ExtensionRow(
                    originalTransactionId: id, requestIdentifier: "e", days: 1, reason: 1, extendedAt: ago(days),
                    effectiveDate: nil), of: scope)
            try await store.saveIdentifiers(
                CustomerIdentifiers(originalTransactionIds: ["\(days)"], transactionIds: []),
                of: Array(id.utf8),
                at: ago(days))
            try await store.add(
                comparisons: [
                    ComparisonCount(
                        day: 20_000 - days, bundleId: "com.example.app", environment: "Production", outcome: "equal",
                        count: 1)
                ],
                differences: [
                    DifferenceCount(
                        day: 20_000 - days, bundleId: "com.example.app", environment: "Production",
                        verdict: "expected", rule: "r", path: "p", count: 1, first: 1, last: 1, examples: [[1]])
                ],
                customers: [
                    ComparedCustomers(
                        day: 20_000 - days, bundleId: "com.example.app", environment: "Production", digests: [days])
                ])
        }
        try await store.markReported(
            try await store.unreportedRefunds(limit: 9).filter { $0.date == ago(900) }, in: nil)

        let expected = [
            "notifications 2", "superseded 2", "customers 1", "transactions 2", "refunds 1", "learntIdentifiers 1",
            "renewalExtensions 1", "comparisons 3",
        ]
        // A dry run does not count the records of a customer twice.
        #expect(try await expire(dry: true) == expected)
        #expect(try await expire() == expected)
        #expect(try await expire().isEmpty)
        #expect(try texts("SELECT uuid FROM notification ORDER BY id") == ["n3", "n5"])
        #expect(
            try texts("SELECT text FROM transactionRecord ORDER BY id") == [
                "asked 799", "heard 100", "somebody 399", "refunded 10",
            ])
        #expect(try texts("SELECT originalTransactionId FROM subscription ORDER BY id") == ["asked", "heard"])
        #expect(try texts("SELECT identifier FROM companion ORDER BY identifier") == ["c[\"asked\"]", "c[\"heard\"]"])
        #expect(
            try texts("SELECT transactionId FROM revocation ORDER BY transactionId") == ["refunded", "refundedLong"])
        #expect(try texts("SELECT transactionId FROM refund") == ["refunded"])
        #expect(try texts("SELECT originals FROM learntIdentifiers") == ["10"])
        for table in ["difference", "comparison", "renewalExtension", "differenceExample"] {
            #expect(try texts("SELECT 1 FROM \(table)") == ["1"], "\(table)")
        }
    }

    @Test("Completed deliveries expire early; waiting and abandoned ones stay as long as their notification")
    func deliveries() async throws {
        let targetKey = ForwardingTargetKey(bundleId: scope.bundleId, form: "raw", url: "http://127.0.0.1:9/")
        for (uuid, days) in [("done", Int64(31)), ("dead", 32), ("waiting", 33), ("new", 2), ("gone", 401)] {
            try await receive(uuid, days, to: [targetKey])
        }
        let lease = DeliveryLease(lessee: "test", until: Self.now.advanced(byMilliseconds: 1))
        for delivery in try await store.claim(to: targetKey, for: lease, at: Self.now, limit: 9) {
            switch delivery.uuid {
            case "done", "new": try await store.settle(delivery, .delivered(bodies: 1))
            case "dead": try await store.settle(delivery, .abandoned(code: "x", bodiesSent: 0))
            default: break
            }
        }
        #expect(try await expire() == ["notifications 1", "forwardedDeliveries 1"])
        #expect(try await store.deliveries().map(\.uuid) == ["dead", "waiting", "new"])
        #expect(try texts("SELECT uuid FROM notification ORDER BY id") == ["done", "dead", "waiting", "new"])
    }

    @Test("Many rows are deleted in small batches that can be stopped, and `nil` keeps rows forever")
    func batches() async throws {
        let total = 2_500
        try await withThrowingTaskGroup { group in
            for index in 0..<total { group.addTask { try await receive("\(index)", 500) } }
            try await group.waitForAll()
        }
        var forever = Retention()
        forever.notifications = nil
        #expect(try await expire(forever).isEmpty)
        var batches = 0
        let some = try await store.expire(Retention(), at: Self.now) { time in
            batches += 1
            return batches < 3
        }
        let count = try #require(some.first?.count)
        #expect(count < 2_000)
        #expect(try await store.notificationCount() == total - count)
        #expect(try await expire() == ["notifications \(total - count)"])
    }
}
