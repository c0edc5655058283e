import ReceiptBridgeReceipts
public import Foundation

/// The authentic payload of a signed transaction. Only ``SignedDataVerifier`` creates it.
///
/// Any property may be absent. [Apple's documentation](
/// https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload)
public struct JWSTransactionDecodedPayload: Hashable, Sendable {
    let signed: Signed<TransactionPayload>
    private var payload: TransactionPayload { signed.payload }

    /// The JWS.
    public var signedTransaction: String { signed.text }
    /// The payload as signed, in JSON. Members without a property here are in it.
    public var claims: Data { Data(payload.claims) }

    /// The transaction.
    public var transactionId: String? { payload.transactionId }
    /// The first transaction of the subscription; for other products the one that this one restores.
    public var originalTransactionId: String? { payload.originalTransactionId }
    /// The subscription period.
    public var webOrderLineItemId: String? { payload.webOrderLineItemId }
    /// The bundle identifier of the app.
    public var bundleId: String? { payload.bundleId }
    /// The product.
    public var productId: String? { payload.productId }
    /// The subscription group.
    public var subscriptionGroupIdentifier: String? { payload.subscriptionGroupIdentifier }
    /// When it was bought or renewed.
    public var purchaseDate: Date? { payload.purchaseDate.map { Date($0) } }
    /// When the original transaction was bought.
    public var originalPurchaseDate: Date? { payload.originalPurchaseDate.map { Date($0) } }
    /// The end of the period; only of auto-renewable subscriptions.
    public var expiresDate: Date? { payload.expiresDate.map { Date($0) } }
    /// When it was signed.
    public var signedDate: Date? { payload.signedDate.map { Date($0) } }
    /// When it was refunded, or removed from Family Sharing.
    public var revocationDate: Date? { payload.revocationDate.map { Date($0) } }
    /// 1 for an issue in the app, 0 for other reasons.
    public var revocationReason: Int64? { payload.revocationReason }
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
    public var revocationType: String? { payload.revocationType }
    /// The refunded share in thousandths of a percent.
    public var revocationPercentage: Int64? { payload.revocationPercentage }
    /// The number of items.
    public var quantity: Int64? { payload.quantity }
    /// The type of the product.
    public var type: ProductType? { payload.type.map(ProductType.init) }
    /// Whether the customer bought it or a member of the family did.
    public var inAppOwnershipType: InAppOwnershipType? { payload.inAppOwnershipType.map(InAppOwnershipType.init) }
    /// Whether an upgrade replaced it.
    public var isUpgraded: Bool? { payload.isUpgraded }
    /// The UUID that the app set for the customer.
    public var appAccountToken: String? { payload.appAccountToken }
    /// The customer's download of the app.
    public var appTransactionId: String? { payload.appTransactionId }
    /// The type of the offer.
    public var offerType: OfferType? { payload.offerType.map(OfferType.init) }
    /// The offer.
    public var offerIdentifier: String? { payload.offerIdentifier }
    /// The payment mode of the offer.
    public var offerDiscountType: OfferDiscountType? { payload.offerDiscountType.map(OfferDiscountType.init) }
    /// The duration of the offer (ISO 8601), for example `P1W`.
    public var offerPeriod: String? { payload.offerPeriod }
    /// The price in thousandths of the currency unit.
    public var price: Int64? { payload.price }
    /// The currency (ISO 4217).
    public var currency: String? { payload.currency }
    /// The country of the storefront (ISO 3166-1, three letters).
    public var storefront: String? { payload.storefront }
    /// Apple's number of the storefront.
    public var storefrontId: String? { payload.storefrontId }
    /// `PURCHASE` or `RENEWAL`.
    public var transactionReason: String? { payload.transactionReason }
    /// The environment.
    public var environment: AppStoreEnvironment? { payload.environment.flatMap(AppStoreEnvironment.init) }
}
