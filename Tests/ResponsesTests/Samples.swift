import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// 2023-08-14 07:50:46.123 UTC, when Los Angeles has daylight saving time.
let summer = Timestamp(milliseconds: 1_691_999_446_123)

let renderer = VerifyReceiptRenderer(tables: .bundled)

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

func written(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return text(writer.finish())
}

func answer(
    _ receipt: ReceiptContents, environment: AppStoreEnvironment = .production, at now: Timestamp = summer,
    options: AnswerOptions = AnswerOptions()
) -> String {
    let history = PurchaseHistory(
        receipt: receipt, environment: environment, submittedText: Redacted(Array("MIIsubmitted==".utf8)))
    return text(renderer.receiptAnswer(history: history, requestDate: now, options: options).body)
}

/// An App Receipt with all properties that every response has, and without purchases.
func appReceipt(purchases: [InAppPurchase] = []) -> AppReceipt {
    var receipt = AppReceipt()
    receipt.receiptType = "Production"
    receipt.appAppleId = 1_500_000_001
    receipt.bundleId = "com.example.reader"
    receipt.applicationVersion = "42"
    receipt.downloadId = 36_066_010_076_144
    receipt.versionExternalIdentifier = 860_000_001
    receipt.receiptCreationDate = Timestamp(seconds: 1_691_999_446)
    receipt.originalPurchaseDate = Timestamp(seconds: 1_375_340_400)
    receipt.originalApplicationVersion = "1.0"
    receipt.purchases = purchases
    return receipt
}

/// A purchase that is not a subscription, as in genuine receipts: attribute 1711 is 0, and 1708 and 1719 are absent.
func lifetime(
    _ id: String = "500000000000001", of product: String = "lifetime", day: Int64 = 0,
    type: ReceiptProductType = .nonConsumable
) -> InAppPurchase {
    var purchase = InAppPurchase()
    purchase.quantity = 1
    purchase.productId = "com.example.reader.\(product)"
    purchase.transactionId = id
    purchase.originalTransactionId = id
    purchase.purchaseDate = Timestamp(seconds: 1_673_000_000 + day * 86_400)
    purchase.originalPurchaseDate = Timestamp(seconds: 1_673_000_000)
    purchase.productType = type
    purchase.webOrderLineItemId = 0
    purchase.isTrialPeriod = 0
    return purchase
}

/// A period of an auto-renewable subscription.
func month(_ id: String, of original: String = "500000000000002", day: Int64 = 0) -> InAppPurchase {
    var purchase = lifetime(id, day: day, type: .autoRenewable)
    purchase.productId = "com.example.reader.month"
    purchase.originalTransactionId = original
    purchase.expiresDate = Timestamp(seconds: 1_673_000_000 + (day + 30) * 86_400)
    purchase.webOrderLineItemId = 500_000_000_000_777
    purchase.isInIntroOfferPeriod = 0
    return purchase
}

/// A transaction from the Server API; times in days.
func transaction(
    _ id: String, of original: String = "500000000000002", type: String = "Auto-Renewable Subscription", day: Int64 = 0,
    _ change: (inout TransactionPayload) -> Void = { _ in }
) -> TransactionPayload {
    var payload = TransactionPayload()
    payload.transactionId = id
    payload.originalTransactionId = original
    payload.productId = type == "Auto-Renewable Subscription" ? "com.example.reader.month" : "com.example.reader.thing"
    payload.type = type
    payload.purchaseDate = Timestamp(seconds: 1_673_000_000 + day * 86_400)
    payload.originalPurchaseDate = Timestamp(seconds: 1_673_000_000)
    payload.quantity = 1
    payload.inAppOwnershipType = "PURCHASED"
    if type == "Auto-Renewable Subscription" {
        payload.expiresDate = Timestamp(seconds: 1_673_000_000 + (day + 30) * 86_400)
        payload.webOrderLineItemId = "9\(id)"
        payload.subscriptionGroupIdentifier = "20500001"
    }
    change(&payload)
    return payload
}

func renewal(_ change: (inout RenewalPayload) -> Void = { _ in }) -> RenewalPayload {
    var payload = RenewalPayload()
    payload.originalTransactionId = "500000000000002"
    payload.productId = "com.example.reader.month"
    payload.autoRenewProductId = "com.example.reader.month"
    payload.autoRenewStatus = 1
    change(&payload)
    return payload
}

/// The history of a customer, with one subscription if there is one.
func records(
    _ transactions: [TransactionPayload], status: Int = 1, renewal: RenewalPayload? = renewal(),
    appAppleId: Int64? = 1_500_000_001
) -> CustomerRecords {
    let hasSubscription = transactions.contains { $0.type == "Auto-Renewable Subscription" }
    return CustomerRecords(
        environment: .production, bundleId: "com.example.reader", appAppleId: appAppleId,
        transactions: transactions.map { Signed(payload: $0, text: "") },
        subscriptions: hasSubscription
            ? [
                SubscriptionRecord(
                    subscriptionGroupIdentifier: "20500001", originalTransactionId: "500000000000002", status: status,
                    transaction: nil, renewal: renewal.map { Signed(payload: $0, text: "") })
            ] : [],
        revision: nil)
}

func purchaseInfo(_ entries: KeyValuePairs<String, String>) -> TransactionReceipt {
    TransactionReceipt(purchaseInfo: entries.map { TransactionReceipt.Entry(key: $0.key, value: $0.value) })
}

func values(of key: String, in array: String, of answer: String) throws -> [String] {
    let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let holder = array == "in_app" ? object?["receipt"] as? [String: Any] : object
    return (holder?[array] as? [[String: Any]] ?? []).compactMap { $0[key] as? String }
}

/// Finds parts of compact JSON.
enum JSONReader {
    /// Returns the object under the first `"key":` of compact JSON, with its braces.
    static func object(_ key: String, in json: String) -> String? {
        guard let start = json.range(of: "\"\(key)\":{") else { return nil }
        var depth = 0
        var index = json.index(before: start.upperBound)
        repeat {
            if json[index] == "{" { depth += 1 }
            if json[index] == "}" { depth -= 1 }
            index = json.index(after: index)
        } while depth > 0 && index < json.endIndex
        return String(json[json.index(before: start.upperBound)..<index])
    }
}
