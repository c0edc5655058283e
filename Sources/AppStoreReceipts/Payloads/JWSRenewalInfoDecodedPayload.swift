import ReceiptBridgeReceipts
public import Foundation

/// The authentic payload of a `signedRenewalInfo`. Only ``SignedDataVerifier`` creates it.
///
/// Any property may be absent. [Apple's documentation](
/// https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload)
public struct JWSRenewalInfoDecodedPayload: Hashable, Sendable {
    let signed: Signed<RenewalPayload>
    private var payload: RenewalPayload { signed.payload }

    /// The JWS.
    public var signedRenewalInfo: String { signed.text }
    /// The payload as signed, in JSON. Members without a property here are in it.
    public var claims: Data { Data(payload.claims) }

    /// The subscription.
    public var originalTransactionId: String? { payload.originalTransactionId }
    /// The current product.
    public var productId: String? { payload.productId }
    /// The product of the next period.
    public var autoRenewProductId: String? { payload.autoRenewProductId }
    /// 1 if it renews, otherwise 0.
    public var autoRenewStatus: Int64? { payload.autoRenewStatus }
    /// Why it has expired: 1 canceled, 2 billing error, 3 no consent to a price increase, 4 product not available,
    /// 5 other.
    public var expirationIntent: Int64? { payload.expirationIntent }
    /// 1 if the customer consented to a price increase, or was notified of one that needs no consent, otherwise 0.
    public var priceIncreaseStatus: Int64? { payload.priceIncreaseStatus }
    /// Whether the App Store retries the payment.
    public var isInBillingRetryPeriod: Bool? { payload.isInBillingRetryPeriod }
    /// The end of the grace period, in which access continues although the payment failed.
    public var gracePeriodExpiresDate: Date? { payload.gracePeriodExpiresDate.map { Date($0) } }
    /// The start of the latest series of periods.
    public var recentSubscriptionStartDate: Date? { payload.recentSubscriptionStartDate.map { Date($0) } }
    /// When the next period would begin.
    public var renewalDate: Date? { payload.renewalDate.map { Date($0) } }
    /// The price of the next period in thousandths of the currency unit.
    public var renewalPrice: Int64? { payload.renewalPrice }
    /// The currency (ISO 4217).
    public var currency: String? { payload.currency }
    /// When it was signed.
    public var signedDate: Date? { payload.signedDate.map { Date($0) } }
    /// The type of the next period's offer.
    public var offerType: OfferType? { payload.offerType.map(OfferType.init) }
    /// The next period's offer.
    public var offerIdentifier: String? { payload.offerIdentifier }
    /// The payment mode of the next period's offer.
    public var offerDiscountType: OfferDiscountType? { payload.offerDiscountType.map(OfferDiscountType.init) }
    /// The duration of the next period's offer (ISO 8601).
    public var offerPeriod: String? { payload.offerPeriod }
    /// The win-back offers for the customer, best first.
    public var eligibleWinBackOfferIds: [String]? { payload.eligibleWinBackOfferIds }
    /// The UUID that the app set for the customer.
    public var appAccountToken: String? { payload.appAccountToken }
    /// The customer's download of the app.
    public var appTransactionId: String? { payload.appTransactionId }
    /// The environment.
    public var environment: AppStoreEnvironment? { payload.environment.flatMap(AppStoreEnvironment.init) }
}
