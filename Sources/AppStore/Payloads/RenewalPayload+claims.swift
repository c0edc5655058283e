package import JSONReading
package import StoreTypes

extension RenewalPayload: SignedClaims {
    /// Reads every field that has a name in the document; `claims` keeps the document.
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

    /// When it was signed.
    package var signingDate: Timestamp? { signedDate }
    /// Never named.
    package var claimedBundleId: String? { nil }
    /// The environment.
    package var claimedEnvironment: String? { environment }
    /// Renewals name no app.
    package static var namesApp: Bool { false }
}
