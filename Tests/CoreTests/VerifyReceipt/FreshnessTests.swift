import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeCore

@Suite("Freshness of records")
struct FreshnessTests {
    private static let noon = Timestamp(seconds: 1_795_262_400)

    /// Records of one subscription. Times are in seconds after the lookup began.
    private static func records(
        status: Int, ends: Int64?, renews: Bool = false, isRefunded: Bool = false, anomalies: [RecordAnomaly] = []
    ) -> CustomerRecords {
        var transaction = TransactionPayload()
        transaction.transactionId = "101"
        transaction.originalTransactionId = "100"
        transaction.type = "Auto-Renewable Subscription"
        transaction.expiresDate = ends.map { noon.advanced(by: .seconds($0)) }
        transaction.revocationDate = isRefunded ? noon : nil
        var renewal = RenewalPayload()
        renewal.autoRenewStatus = renews ? 1 : 0
        let signed = Signed(payload: transaction, text: "")
        return CustomerRecords(
            environment: .production, bundleId: nil, appAppleId: nil, transactions: [signed],
            subscriptions: status == 0
                ? []
                : [
                    SubscriptionRecord(
                        subscriptionGroupIdentifier: nil, originalTransactionId: "100", status: status,
                        transaction: signed, renewal: Signed(payload: renewal, text: ""))
                ],
            revision: nil, anomalies: anomalies)
    }

    /// Records of purchases of the given types, which are refunded or not.
    private static func records(_ purchases: (type: String, isRefunded: Bool)...) -> CustomerRecords {
        let transactions = purchases.map { purchase in
            var transaction = TransactionPayload()
            transaction.transactionId = "101"
            transaction.type = purchase.type
            transaction.revocationDate = purchase.isRefunded ? noon : nil
            return Signed(payload: transaction, text: "")
        }
        return CustomerRecords(
            environment: .production, bundleId: nil, appAppleId: nil, transactions: transactions, subscriptions: [],
            revision: nil)
    }

    /// Records, and for how many seconds they are current if the maximum age is an hour, with and without a call.
    struct Case: Sendable {
        let name: String
        let records: CustomerRecords
        var needsLookup = false
        let canAsk: Int64
        let cannotAsk: Int64
    }

    static let cases = [
        Case(name: "active", records: records(status: 1, ends: 86_400), canAsk: 3_600, cannotAsk: 3_600),
        Case(name: "ends in 30 minutes", records: records(status: 1, ends: 1_800), canAsk: 1_680, cannotAsk: 1_680),
        Case(name: "ends in one minute", records: records(status: 1, ends: 60), canAsk: 5, cannotAsk: 5),
        Case(name: "ends in two seconds", records: records(status: 1, ends: 2), canAsk: 2, cannotAsk: 2),
        Case(name: "ended a minute ago", records: records(status: 2, ends: -60), canAsk: 5, cannotAsk: 5),
        Case(name: "expired", records: records(status: 2, ends: -86_400), canAsk: 5, cannotAsk: 3_600),
        Case(name: "in billing retry", records: records(status: 3, ends: -86_400), canAsk: 5, cannotAsk: 3_600),
        Case(name: "revoked", records: records(status: 5, ends: 86_400), canAsk: 5, cannotAsk: 3_600),
        Case(name: "an unlock", records: records(("Non-Consumable", false)), canAsk: 3_600, cannotAsk: 3_600),
        Case(name: "everything refunded", records: records(("Non-Consumable", true)), canAsk: 5, cannotAsk: 3_600),
        Case(
            name: "one of two refunded", records: records(("Non-Consumable", true), ("Non-Consumable", false)),
            canAsk: 3_600, cannotAsk: 3_600),
        Case(name: "a consumable refunded", records: records(("Consumable", true)), canAsk: 3_600, cannotAsk: 3_600),
        Case(
            name: "active, its period refunded", records: records(status: 1, ends: 86_400, isRefunded: true), canAsk: 5,
            cannotAsk: 3_600),
        Case(name: "was to renew", records: records(status: 2, ends: -300, renews: true), canAsk: 5, cannotAsk: 5),
        Case(name: "without a status", records: records(status: 0, ends: -86_400), canAsk: 5, cannotAsk: 3_600),
        Case(
            name: "incomplete",
            records: records(status: 1, ends: 86_400, anomalies: [.subscriptionWithoutStatus("100")]), canAsk: 5,
            cannotAsk: 5),
        Case(
            name: "contradicts itself",
            records: records(status: 1, ends: 86_400, anomalies: [.statusOlderThanHistory("100")]), canAsk: 0,
            cannotAsk: 0),
        Case(
            name: "an event needs a lookup", records: records(status: 1, ends: 86_400), needsLookup: true, canAsk: 0,
            cannotAsk: 0),
    ]

    @Test("Records are current until Apple may know better", arguments: cases.indices)
    func table(index: Int) {
        let this = Self.cases[index]
        let freshness = Freshness(of: this.records, askedAt: Self.noon, needsLookup: this.needsLookup)
        func seconds(canAsk: Bool) -> Int64 {
            (0...4_000).first { second in
                !freshness.isCurrent(
                    at: Self.noon.advanced(by: .seconds(second)), maximumAge: .hours(1), canAsk: canAsk)
            } ?? -1
        }
        #expect(seconds(canAsk: true) == this.canAsk, "\(this.name)")
        #expect(seconds(canAsk: false) == this.cannotAsk, "\(this.name)")
    }

    @Test("Statuses that say the same make a denial current for five more seconds, and nothing else")
    func confirmation() {
        let expired = Self.records(status: 2, ends: -86_400)
        func isCurrent(_ freshness: Freshness, confirmedAt: Int64, at second: Int64) -> Bool {
            freshness.confirmed(at: Self.noon.advanced(by: .seconds(confirmedAt)))
                .isCurrent(at: Self.noon.advanced(by: .seconds(second)), maximumAge: .hours(1))
        }
        let freshness = Freshness(of: expired, askedAt: Self.noon)
        #expect((99...106).filter { isCurrent(freshness, confirmedAt: 100, at: $0) } == [100, 101, 102, 103, 104])
        #expect(!isCurrent(freshness, confirmedAt: 3_600, at: 3_600))
        let incomplete = Self.records(status: 2, ends: -86_400, anomalies: [.subscriptionWithoutStatus("100")])
        #expect(!isCurrent(Freshness(of: incomplete, askedAt: Self.noon), confirmedAt: 100, at: 100))
        let changed = Freshness(of: expired, askedAt: Self.noon, needsLookup: true)
        #expect(!isCurrent(changed, confirmedAt: 100, at: 100))
        // A period has ended since: the history may have the next one.
        let ended = Freshness(of: Self.records(status: 1, ends: 50), askedAt: Self.noon)
        #expect(!isCurrent(ended, confirmedAt: 100, at: 100))
    }

    @Test("A clock that was set back makes no records current")
    func clock() {
        let freshness = Freshness(of: Self.records(status: 1, ends: 86_400), askedAt: Self.noon)
        #expect(!freshness.isCurrent(at: Self.noon.advanced(by: .milliseconds(-1)), maximumAge: .hours(1)))
        #expect(!freshness.isCurrent(at: Self.noon, maximumAge: .zero))
    }

    @Test("A refund that nothing signed states is a denial")
    func unsignedRefund() {
        let freshness = Freshness(of: Self.records(status: 1, ends: 86_400), askedAt: Self.noon)
        #expect(!freshness.denies(at: Self.noon) && freshness.withUnsignedRefund.denies(at: Self.noon))
        #expect(freshness.denies(at: Self.noon.advanced(by: .days(2))))
    }

    @Test("A history is stored with the time of its transactions: what was signed before a later status may be missing")
    func signedDate() throws {
        var transaction = TransactionPayload()
        transaction.transactionId = "101"
        transaction.signedDate = Self.noon
        var renewal = RenewalPayload()
        renewal.originalTransactionId = "101"
        renewal.signedDate = Self.noon.advanced(by: .seconds(2))
        let records = CustomerRecords(
            environment: .production, bundleId: nil, appAppleId: nil,
            transactions: [Signed(payload: transaction, text: "")],
            subscriptions: [
                SubscriptionRecord(
                    subscriptionGroupIdentifier: nil, originalTransactionId: "101", status: 1, transaction: nil,
                    renewal: Signed(payload: renewal, text: ""))
            ], revision: "1")
        let row = try #require(
            CustomerRow(records, keys: CustomerIdentifiers(originals: [], transactions: []), askedAt: Self.noon))
        #expect(row.signedDate == Self.noon)
    }
}
