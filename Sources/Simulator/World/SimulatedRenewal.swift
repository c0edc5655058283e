package import ReceiptBridgeBase

/// The renewal state of a subscription: the fields of `JWSRenewalInfoDecodedPayload` and the subscription's status.
package struct SimulatedRenewal: Sendable, Hashable {
    /// The status of a subscription, with the values of `status` in Get All Subscription Statuses.
    package enum Status: Int64, Sendable, Hashable {
        case active = 1
        case expired
        case billingRetry
        case gracePeriod
        case revoked
    }

    package let originalTransactionId: String
    package var productId: String
    /// The product of the next period. It differs from ``productId`` if the customer has chosen a downgrade.
    package var autoRenewProductId: String
    package var status: Status
    package var willRenew: Bool
    /// Why the subscription expired: 1 voluntary, 2 billing error, 3 no consent to a price increase, 4 product not
    /// for sale, 5 other.
    package var expirationIntent: Int64?
    /// `nil` if no renewal has failed and the subscription has not expired since its last period began.
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    /// Consent to a price increase: 0 not answered, 1 consented or only notified.
    package var priceIncreaseStatus: Int64?
    package var offer: SimulatedOffer?
    var extensionDates: [Timestamp] = []
    /// Identifiers of the win-back offers that an expired customer may redeem.
    var eligibleWinBackOfferIds: [String] = []
    /// Start of the first period since the last gap.
    var recentSubscriptionStartDate: Timestamp
    package var renewalDate: Timestamp
    /// Price of the next renewal in thousandths of a US dollar.
    package var renewalPrice: Int64
    package var appAccountToken: String?
    /// `nil` if the customer has no app transaction.
    package var appTransactionId: String?
    package var billingPlan: BillingPlan?
    /// What happens at the end of the commitment, or `nil` if the current period belongs to none.
    package var commitment: RenewalCommitment?
    /// The developer's SKU, if it was bought with the Advanced Commerce API.
    package var advancedCommerce: AdvancedCommerceDetails?

    /// - Parameter start: start of the first period since the last gap.
    init(after newest: SimulatedTransaction, _ status: Status = .active, willRenew: Bool = true, start: Timestamp) {
        originalTransactionId = newest.originalTransactionId
        productId = newest.product.productId
        autoRenewProductId = newest.product.productId
        self.status = status
        self.willRenew = willRenew
        recentSubscriptionStartDate = start
        renewalDate = newest.expiresDate ?? newest.purchaseDate
        renewalPrice = newest.product.price
        appAccountToken = newest.appAccountToken
        appTransactionId = newest.appTransactionId
        billingPlan = newest.product.billingPlan
        advancedCommerce = newest.advancedCommerce
    }

    package var nextProduct: SimulatedProduct? { SimulatedProduct.named(autoRenewProductId, billingPlan) }

    /// Whether the customer may use the product now.
    package var isEntitled: Bool { status == .active || status == .gracePeriod }

    package func row(_ environment: AppStoreEnvironment, signedDate: Timestamp) -> JSONValue {
        JSONValue([
            "originalTransactionId": originalTransactionId, "autoRenewProductId": autoRenewProductId,
            "productId": productId, "autoRenewStatus": willRenew ? 1 : 0, "expirationIntent": expirationIntent,
            "isInBillingRetryPeriod": isInBillingRetryPeriod,
            "gracePeriodExpiresDate": gracePeriodExpiresDate?.milliseconds,
            "priceIncreaseStatus": priceIncreaseStatus, "offerType": offer?.type,
            "offerIdentifier": offer?.identifier, "offerDiscountType": offer?.discountType,
            "offerPeriod": offer?.period,
            "eligibleWinBackOfferIds": eligibleWinBackOfferIds.isEmpty ? nil : eligibleWinBackOfferIds,
            "signedDate": signedDate.milliseconds, "environment": environment.rawValue,
            "recentSubscriptionStartDate": recentSubscriptionStartDate.milliseconds,
            "renewalDate": renewalDate.milliseconds, "currency": "USD", "renewalPrice": renewalPrice,
            "appAccountToken": appAccountToken, "appTransactionId": appTransactionId,
            "renewalBillingPlanType": billingPlan?.rawValue, "commitmentInfo": commitment?.document,
            "advancedCommerceInfo": advancedCommerce?.renewalDocument,
        ])
    }
}
