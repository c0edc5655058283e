import ReceiptBridgeBase
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeTestSupport

/// Both sides of a customer with three purchases: a subscription in its second period, and a non-consumable.
///
/// Tests change one side.
struct ComparisonFixture {
    typealias Object = [String: Any]

    static let now = SharedSimulator.noon.milliseconds
    static let day: Int64 = 86_400_000

    /// The time so many days before now.
    static func ago(_ days: Int64) -> Int64 { now - days * day }

    /// A consumable that was bought yesterday.
    static var coins: (wire: Object, row: Object) { purchase("300", of: "coins", "Consumable", at: ago(1)) }

    var receipt: Object = [
        "receipt_type": "Production", "bundle_id": "com.example.app", "adam_id": 1_234_567_890,
        "app_item_id": 1_234_567_890, "request_date_ms": "\(now)", "original_application_version": "1.0",
    ]
    var top: Object = ["status": 0, "environment": "Production", "latest_receipt": "QUJD"]
    var snapshot: [Object]
    var latest: [Object]
    var renewals: [Object] = [
        [
            "original_transaction_id": "100", "product_id": "monthly", "auto_renew_product_id": "monthly",
            "auto_renew_status": "1",
        ]
    ]
    var envelope: Object = ["bundleId": "com.example.app", "environment": "Production", "appAppleId": 1_234_567_890]
    var history: [Object]
    var renewalInfo: [Object] = [
        ["originalTransactionId": "100", "productId": "monthly", "autoRenewProductId": "monthly", "autoRenewStatus": 1]
    ]
    var status = 1
    var historyVersion = 2
    /// `false` for a response without `latest_receipt` and `latest_receipt_info`.
    var hasLatest = true
    /// `true` for a response to an iOS 6 receipt. Without `flatLatest`, the product does not renew.
    var isFlat = false
    /// The newest period in a response to an iOS 6 receipt.
    var flatLatest: Object?
    /// A rendered response to compare with instead of the history.
    var otherAnswer: Object?
    var context = ComparisonContext(receipt: "planted")

    init() {
        let rows = [
            Self.period("100", start: Self.ago(40)), Self.period("101", start: Self.ago(10)),
            Self.purchase("200", of: "unlock", "Non-Consumable", at: Self.ago(20)),
        ]
        latest = rows.map(\.wire)
        history = rows.map(\.row)
        snapshot = [rows[0].wire]
        snapshot[0]["subscription_group_identifier"] = nil
    }

    var answer: Object {
        if isFlat {
            var answer: Object = ["status": 0, "receipt": receipt]
            answer["latest_receipt_info"] = flatLatest
            return answer
        }
        var answer = top
        answer["receipt"] = receipt.merging(["in_app": snapshot]) { $1 }
        answer["pending_renewal_info"] = renewals
        if hasLatest { answer["latest_receipt_info"] = latest } else { answer["latest_receipt"] = nil }
        return answer
    }

    func verifyReceipt() throws -> ComparedAnswer { try ComparedAnswer(verifyReceipt: Self.bytes(answer)) }

    func serverAPI() throws -> ComparedAnswer {
        if let otherAnswer { return try ComparedAnswer(verifyReceipt: Self.bytes(otherAnswer)) }
        let items = renewalInfo.map {
            ["originalTransactionId": "100", "status": status, "signedRenewalInfo": $0] as Object
        }
        var answer = ComparedAnswer(
            try RecordedRecords(
                history: [Self.bytes(envelope.merging(["signedTransactions": history]) { $1 })],
                statuses: Self.bytes(envelope.merging(["data": [["lastTransactions": items] as Object]]) { $1 })))
        answer.historyVersion = historyVersion
        return answer
    }

    func differences() throws -> [Difference] {
        Comparison(verifyReceipt: try verifyReceipt(), serverAPI: try serverAPI(), context: context).differences
    }

    /// The differences in the form `unexpected cancellation transactions[100].revocationDate`.
    func described() throws -> [String] { try differences().map { "\($0.verdict.rawValue) \($0.rule) \($0.fullPath)" } }

    static func bytes(_ object: Any) throws -> [UInt8] {
        [UInt8](try JSONSerialization.data(withJSONObject: object, options: .sortedKeys))
    }
}

extension ComparisonFixture {
    static func period(_ id: String, start: Int64) -> (wire: Object, row: Object) {
        let end = start + 30 * day
        var (wire, row) = purchase(id, of: "monthly", "Auto-Renewable Subscription", at: start)
        wire.merge([
            "original_transaction_id": "100", "original_purchase_date_ms": "\(ago(40))",
            "expires_date_ms": "\(end)", "web_order_line_item_id": "9\(id)", "is_in_intro_offer_period": "false",
            "subscription_group_identifier": "20000001",
        ]) { $1 }
        row.merge([
            "originalTransactionId": "100", "originalPurchaseDate": ago(40), "expiresDate": end,
            "webOrderLineItemId": "9\(id)", "subscriptionGroupIdentifier": "20000001",
        ]) { $1 }
        return (wire, row)
    }

    /// A free introductory period.
    static func trial(_ id: String, start: Int64, flags: [String]) -> (wire: Object, row: Object) {
        var (wire, row) = period(id, start: start)
        wire.merge(["is_trial_period": flags[0], "is_in_intro_offer_period": flags[1]]) { $1 }
        row.merge(["offerType": 1, "offerDiscountType": "FREE_TRIAL", "price": 0]) { $1 }
        return (wire, row)
    }

    static func purchase(
        _ id: String, of product: String, _ type: String, at date: Int64
    ) -> (wire: Object, row: Object) {
        let wire: Object = [
            "quantity": "1", "product_id": product, "transaction_id": id, "original_transaction_id": id,
            "purchase_date_ms": "\(date)", "original_purchase_date_ms": "\(date)", "is_trial_period": "false",
            "in_app_ownership_type": "PURCHASED",
        ]
        let row: Object = [
            "transactionId": id, "originalTransactionId": id, "productId": product, "bundleId": "com.example.app",
            "purchaseDate": date, "originalPurchaseDate": date, "quantity": 1, "type": type,
            "inAppOwnershipType": "PURCHASED", "environment": "Production", "price": 990,
        ]
        return (wire, row)
    }

    mutating func add(_ rows: (wire: Object, row: Object)) {
        latest.append(rows.wire)
        history.append(rows.row)
    }

    mutating func removeSubscription() {
        snapshot = [latest[2]]
        latest = snapshot
        renewals = []
    }

    mutating func moveToSandbox() {
        top["environment"] = "Sandbox"
        envelope["environment"] = "Sandbox"
        for index in history.indices { history[index]["environment"] = "Sandbox" }
    }
}
