package import ReceiptBridgeBase

/// The payload of a `signedRenewalInfo`: the renewal state of a subscription.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
package struct RenewalPayload: Sendable, Hashable {
    /// The identifier of the subscription.
    package var originalTransactionId: String?
    package var productId: String?
    /// The product of the next period.
    package var autoRenewProductId: String?

    /// 0 off, 1 on.
    package var autoRenewStatus: Int64?
    /// The reason for the expiration, 1 to 5; only if the subscription has expired.
    package var expirationIntent: Int64?
    /// 0 if the customer has not responded; 1 if the customer consented, or was notified of an increase that needs no
    /// consent.
    package var priceIncreaseStatus: Int64?
    /// The offer of the next period: see `OfferType`.
    package var offerType: Int64?
    /// The price of the next period, in thousandths of the currency unit.
    package var renewalPrice: Int64?
    /// True during billing retry; absent if it does not apply.
    package var isInBillingRetryPeriod: Bool?

    /// The end of the grace period, in which access continues although the payment failed.
    package var gracePeriodExpiresDate: Timestamp?
    /// The start of the latest series of periods. Gaps of up to 60 days do not end a series.
    package var recentSubscriptionStartDate: Timestamp?
    /// The time when the next period would begin.
    package var renewalDate: Timestamp?
    /// The time of signing. The signer's certificates are checked for this time.
    package var signedDate: Timestamp?

    /// The identifier of the next period's offer.
    package var offerIdentifier: String?
    /// The discount type of the next period's offer: see `OfferDiscountType`.
    package var offerDiscountType: String?
    /// The duration of the next period's offer (ISO 8601).
    package var offerPeriod: String?
    /// The currency, three letters (ISO 4217).
    package var currency: String?
    /// The UUID the app set for the customer. Apple sends it in lower case.
    package var appAccountToken: String?
    package var appTransactionId: String?
    /// `Production`, `Sandbox`, `Xcode` or `LocalTesting`; missing in 2021.
    package var environment: String?
    /// The win-back offers for which the customer is eligible, best first.
    package var eligibleWinBackOfferIds: [String]?
    /// The billing plan of the next period: see `TransactionPayload.billingPlanType`.
    package var renewalBillingPlanType: String?
    /// What happens at the end of a commitment. Absent if the subscription has none.
    package var commitmentInfo: RenewalCommitment?
    /// The items of the next period with the Advanced Commerce API, as their JSON bytes.
    package var advancedCommerceInfo: [UInt8]?

    package var claims: [UInt8] = []

    package init() {}
}

extension RenewalPayload: SignedClaims {
    package static let kinds: [SignedKind] = [.renewal]

    package init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        originalTransactionId = try claims.object.text("originalTransactionId")
        productId = claims.text("productId")
        autoRenewProductId = claims.text("autoRenewProductId")
        autoRenewStatus = claims.integer("autoRenewStatus")
        expirationIntent = claims.integer("expirationIntent")
        priceIncreaseStatus = claims.integer("priceIncreaseStatus")
        offerType = claims.integer("offerType")
        renewalPrice = claims.integer("renewalPrice")
        isInBillingRetryPeriod = claims.flag("isInBillingRetryPeriod")
        gracePeriodExpiresDate = try claims.object.date("gracePeriodExpiresDate")
        recentSubscriptionStartDate = claims.date("recentSubscriptionStartDate")
        renewalDate = claims.date("renewalDate")
        signedDate = try claims.object.date("signedDate")
        offerIdentifier = claims.text("offerIdentifier")
        offerDiscountType = claims.text("offerDiscountType")
        offerPeriod = claims.text("offerPeriod")
        currency = claims.text("currency")
        appAccountToken = claims.text("appAccountToken")
        appTransactionId = claims.text("appTransactionId")
        environment = try claims.object.text("environment")
        eligibleWinBackOfferIds = claims.texts("eligibleWinBackOfferIds")
        renewalBillingPlanType = claims.text("renewalBillingPlanType")
        commitmentInfo = claims.nested("commitmentInfo", RenewalCommitment.init)
        advancedCommerceInfo = claims.rawObject("advancedCommerceInfo")
        self.claims = claims.object.bytes
    }

    package var signingDate: Timestamp? { signedDate }
    package var claimedBundleId: String? { nil }
    package var claimedEnvironment: String? { environment }
    /// Renewals contain no bundle identifier.
    package static var namesApp: Bool { false }
}

/// The `commitmentInfo` of a transaction: the place of one billing period within a subscription that is paid month by
/// month for a committed time.
///
/// https://developer.apple.com/documentation/appstoreserverapi/commitmentinfo
package struct TransactionCommitment: Sendable, Hashable {
    /// The number of this billing period, beginning with 1.
    package var billingPeriodNumber: Int64?
    package var totalBillingPeriods: Int64?
    /// The end of the commitment. The transaction's `expiresDate` is the end of its month.
    package var commitmentExpiresDate: Timestamp?
    /// The price of the whole commitment, in thousandths of the currency unit.
    package var commitmentPrice: Int64?

    package init() {}
}

/// The `commitmentInfo` of a renewal: what happens at the end of the commitment.
package struct RenewalCommitment: Sendable, Hashable {
    package var commitmentAutoRenewProductId: String?
    /// 0 off, 1 on. The months of a commitment continue to renew after it is turned off.
    package var commitmentAutoRenewStatus: Int64?
    /// The billing plan of the next commitment: see `TransactionPayload.billingPlanType`.
    package var commitmentRenewalBillingPlanType: String?
    /// The time when the next commitment would begin.
    package var commitmentRenewalDate: Timestamp?
    /// The price of the next commitment, in thousandths of the currency unit.
    package var commitmentRenewalPrice: Int64?

    package init() {}
}

extension TransactionCommitment {
    init(_ claims: inout ClaimReader) {
        billingPeriodNumber = claims.integer("billingPeriodNumber")
        totalBillingPeriods = claims.integer("totalBillingPeriods")
        commitmentExpiresDate = claims.date("commitmentExpiresDate")
        commitmentPrice = claims.integer("commitmentPrice")
    }
}

extension RenewalCommitment {
    init(_ claims: inout ClaimReader) {
        commitmentAutoRenewProductId = claims.text("commitmentAutoRenewProductId")
        commitmentAutoRenewStatus = claims.integer("commitmentAutoRenewStatus")
        commitmentRenewalBillingPlanType = claims.text("commitmentRenewalBillingPlanType")
        commitmentRenewalDate = claims.date("commitmentRenewalDate")
        commitmentRenewalPrice = claims.integer("commitmentRenewalPrice")
    }
}
