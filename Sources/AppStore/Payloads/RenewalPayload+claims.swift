package import JSONReading
package import StoreTypes

extension RenewalPayload: SignedClaims {
    /// Reads every field declared in the type. `claims` keeps the whole document.
    package init(_ object: JSONObject) throws(JSONFieldError) {
        originalTransactionId = try object.text("originalTransactionId")
        productId = try object.text("productId")
        autoRenewProductId = try object.text("autoRenewProductId")
        autoRenewStatus = try object.integer("autoRenewStatus")
        expirationIntent = try object.integer("expirationIntent")
        priceIncreaseStatus = try object.integer("priceIncreaseStatus")
        offerType = try object.integer("offerType")
        renewalPrice = try object.integer("renewalPrice")
        isInBillingRetryPeriod = try object.flag("isInBillingRetryPeriod")
        gracePeriodExpiresDate = try object.date("gracePeriodExpiresDate")
        recentSubscriptionStartDate = try object.date("recentSubscriptionStartDate")
        renewalDate = try object.date("renewalDate")
        signedDate = try object.date("signedDate")
        offerIdentifier = try object.text("offerIdentifier")
        offerDiscountType = try object.text("offerDiscountType")
        offerPeriod = try object.text("offerPeriod")
        currency = try object.text("currency")
        appAccountToken = try object.text("appAccountToken")
        appTransactionId = try object.text("appTransactionId")
        environment = try object.text("environment")
        eligibleWinBackOfferIds = try object.texts("eligibleWinBackOfferIds")
        claims = object.bytes
    }

    /// The time of signing.
    package var signingDate: Timestamp? { signedDate }
    /// Always `nil`, because renewals contain no bundle identifier.
    package var claimedBundleId: String? { nil }
    /// The App Store environment.
    package var claimedEnvironment: String? { environment }
    /// Renewals contain no bundle identifier.
    package static var namesApp: Bool { false }
}
