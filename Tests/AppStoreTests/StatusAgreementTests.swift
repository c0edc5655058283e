import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Testing

@Suite("Statuses that confirm records")
struct StatusAgreementTests {
    private static let noon = Timestamp(seconds: 1_795_262_400)

    /// What the App Store says about one subscription, and the texts of it that are new each time.
    private static func subscription(
        _ status: Int = 2, of original: String = "100", signed: Int64 = 0,
        _ transaction: (inout TransactionPayload) -> Void = { _ in }, renewal: (inout RenewalPayload) -> Void = { _ in }
    ) -> SubscriptionRecord {
        var payload = TransactionPayload()
        (payload.transactionId, payload.originalTransactionId) = ("101", original)
        (payload.expiresDate, payload.signedDate) = (noon, noon.advanced(by: .seconds(signed)))
        transaction(&payload)
        var renewing = RenewalPayload()
        (renewing.autoRenewStatus, renewing.signedDate) = (0, noon.advanced(by: .seconds(signed)))
        renewing.claims = Array("{\(signed)}".utf8)
        renewal(&renewing)
        return SubscriptionRecord(
            subscriptionGroupIdentifier: "1", originalTransactionId: original, status: status,
            transaction: Signed(payload: payload, text: "\(signed)"),
            renewal: Signed(payload: renewing, text: "\(signed)"))
    }

    static let cases: [(name: String, statuses: [SubscriptionRecord], agrees: Bool)] = [
        ("signed again", [subscription(signed: 60)], true),
        ("another status", [subscription(1, signed: 60)], false),
        ("a later period", [subscription(signed: 60) { $0.transactionId = "102" }], false),
        ("another end", [subscription(signed: 60) { $0.expiresDate = noon.advanced(by: .days(5)) }], false),
        ("a refund", [subscription(signed: 60) { $0.revocationDate = noon }], false),
        ("the renewal is on again", [subscription(signed: 60, renewal: { $0.autoRenewStatus = 1 })], false),
        ("another subscription", [subscription(of: "200", signed: 60)], false),
        ("one more subscription", [subscription(signed: 60), subscription(of: "200", signed: 60)], false),
        ("no subscription", [], false),
    ]

    @Test("Statuses agree with records if each subscription is the same, apart from what signing changes")
    func table() {
        let records = CustomerRecords(
            environment: .production, bundleId: nil, appAppleId: nil, transactions: [],
            subscriptions: [Self.subscription()], revision: "1")
        for (name, statuses, agrees) in Self.cases {
            #expect(records.agrees(with: statuses) == agrees, "\(name)")
        }
    }
}
