package import StoreTypes

/// What a `signedRenewalInfo` says: how a subscription goes on.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
package struct RenewalPayload: Sendable, Hashable {
    /// The subscription.
    package var originalTransactionId: String?
    /// The product now.
    package var productId: String?
    /// The product of the next period.
    package var autoRenewProductId: String?

    /// 0 off, 1 on.
    package var autoRenewStatus: Int64?
    /// 1 to 5, of ended subscriptions only.
    package var expirationIntent: Int64?
    /// 0 not answered, 1 consented, or told where no consent is needed.
    package var priceIncreaseStatus: Int64?
    /// Of the next period: see `OfferType`.
    package var offerType: Int64?
    /// Of the next period, in thousandths of the currency's unit.
    package var renewalPrice: Int64?
    /// Present only when it matters.
    package var isInBillingRetryPeriod: Bool?

    /// Until when access goes on though the payment failed.
    package var gracePeriodExpiresDate: Timestamp?
    /// The start of the latest run of periods; gaps of up to 60 days do not end a run.
    package var recentSubscriptionStartDate: Timestamp?
    /// When the next period would begin.
    package var renewalDate: Timestamp?
    /// When the App Store signed this: the time at which its certificates are judged.
    package var signedDate: Timestamp?

    /// Of the next period.
    package var offerIdentifier: String?
    /// Of the next period: see `OfferDiscountType`.
    package var offerDiscountType: String?
    /// Of the next period: a duration (ISO 8601).
    package var offerPeriod: String?
    /// Three letters (ISO 4217).
    package var currency: String?
    /// A UUID, in lower case as Apple sends it.
    package var appAccountToken: String?
    /// Of the customer's download of the app.
    package var appTransactionId: String?
    /// `Production`, `Sandbox`, `Xcode` or `LocalTesting`; missing in 2021.
    package var environment: String?
    /// Win-back offers the customer could take, best first.
    package var eligibleWinBackOfferIds: [String]?

    /// The payload as it was signed, JSON: what has no field here survives in it.
    package var claims: [UInt8] = []

    /// One that says nothing.
    package init() {}
}
