import ReceiptBridgeBase
public import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// One purchase in a receipt, in its state when the receipt was created. A property is `nil` if the receipt does not
/// have it.
public struct InAppPurchase: Hashable, Sendable {
    private let decoded: ReceiptBridgeReceipts.InAppPurchase

    init(_ decoded: ReceiptBridgeReceipts.InAppPurchase) { self.decoded = decoded }

    /// The single purchase of a `transactionReceipt`, whose values are all text.
    init(_ receipt: TransactionReceipt) {
        func number(_ key: String) -> Int64? { receipt.value(of: key).flatMap { Int64($0) } }
        func flag(_ key: String) -> Int64? { receipt[key].map { $0 == "true" || $0 == "1" ? 1 : 0 } }
        var purchase = ReceiptBridgeReceipts.InAppPurchase()
        purchase.quantity = number("quantity")
        purchase.productId = receipt.productId
        purchase.transactionId = receipt.transactionId
        purchase.originalTransactionId = receipt.originalTransactionId
        purchase.purchaseDate = receipt.purchaseDate
        purchase.originalPurchaseDate = receipt.originalPurchaseDate
        purchase.expiresDate = receipt.expiresDate
        purchase.webOrderLineItemId = number("web-order-line-item-id")
        purchase.cancellationDate = number("cancellation-date-ms").map(Timestamp.init(milliseconds:))
        purchase.cancellationReason = number("cancellation-reason")
        purchase.isTrialPeriod = flag("is-trial-period")
        purchase.isInIntroOfferPeriod = flag("is-in-intro-offer-period")
        if receipt.isAutoRenewable { purchase.productType = .autoRenewable }
        purchase.ownershipType = receipt["in-app-ownership-type"].map { $0 == "FAMILY_SHARED" ? 1 : 0 }
        decoded = purchase
    }
}

extension InAppPurchase {
    /// The number of items.
    public var quantity: Int64? { decoded.quantity }
    /// The product.
    public var productId: String? { decoded.productId }
    /// The transaction.
    public var transactionId: String? { decoded.transactionId }
    /// The first transaction of the subscription; for other products the one that this one restores.
    public var originalTransactionId: String? { decoded.originalTransactionId }
    /// When it was bought or renewed.
    public var purchaseDate: Date? { decoded.purchaseDate.map { Date($0) } }
    /// When the original transaction was bought.
    public var originalPurchaseDate: Date? { decoded.originalPurchaseDate.map { Date($0) } }
    /// The end of the period; only of auto-renewable subscriptions.
    public var expiresDate: Date? { decoded.expiresDate.map { Date($0) } }
    /// When it was refunded or revoked.
    public var cancellationDate: Date? { decoded.cancellationDate.map { Date($0) } }
    /// 1 for an issue in the app, 0 for other reasons.
    public var cancellationReason: Int64? { decoded.cancellationReason }
    /// The subscription period.
    public var webOrderLineItemId: String? { decoded.webOrderLineItemId.flatMap { $0 == 0 ? nil : String($0) } }
    /// Whether the period is a free trial.
    public var isTrialPeriod: Bool? { decoded.isTrialPeriod.map { $0 != 0 } }
    /// Whether the period has an introductory offer; `false` for a free trial that was bought before September 2024.
    public var isInIntroOfferPeriod: Bool? { decoded.isInIntroOfferPeriod.map { $0 != 0 } }
    /// The promotional offer; of an offer code a UUID.
    public var promotionalOfferId: String? { decoded.promotionalOfferId }
    /// The type of the product; a number that has no name here is kept as digits.
    public var type: ProductType? {
        decoded.productType.map { ProductType(rawValue: $0.displayName ?? String($0.rawValue)) }
    }
    /// Whether the customer bought it or a member of the family did.
    public var inAppOwnershipType: InAppOwnershipType? {
        decoded.ownershipType.map { $0 == 1 ? .familyShared : .purchased }
    }
}
