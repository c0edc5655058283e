package import StoreTypes

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
    package var autoRenewProductId: String
    package var status: Status
    package var willRenew: Bool
    /// Why the subscription expired: 1 voluntary, 2 billing error, 3 no consent to a price increase, 4 product not
    /// for sale, 5 other.
    package var expirationIntent: Int64?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    /// Consent to a price increase: 0 not answered, 1 consented or only notified.
    package var priceIncreaseStatus: Int64?
    package var offer: SimulatedOffer?
    /// Dates on which the developer extended the renewal date.
    package var extensionDates: [Timestamp] = []
    package var eligibleWinBackOfferIds: [String] = []
    package var recentSubscriptionStartDate: Timestamp
    package var renewalDate: Timestamp
    /// Price of the next renewal in thousandths of a US dollar.
    package var renewalPrice: Int64
    package var appAccountToken: String?
    package var appTransactionId: String

    /// Whether the customer may use the product now.
    package var isEntitled: Bool { status == .active || status == .gracePeriod }

    /// Returns the payload of the renewal's JWS.
    package func row(_ environment: AppStoreEnvironment, signedDate: Timestamp) -> JSONValue {
        .object([
            "originalTransactionId": .string(originalTransactionId),
            "autoRenewProductId": .string(autoRenewProductId),
            "productId": .string(productId),
            "autoRenewStatus": .number(willRenew ? 1 : 0),
            "expirationIntent": expirationIntent.map(JSONValue.number),
            "isInBillingRetryPeriod": isInBillingRetryPeriod.map(JSONValue.bool),
            "gracePeriodExpiresDate": (gracePeriodExpiresDate?.milliseconds).map(JSONValue.number),
            "priceIncreaseStatus": priceIncreaseStatus.map(JSONValue.number),
            "offerType": (offer?.type).map(JSONValue.number),
            "offerIdentifier": (offer?.identifier).map(JSONValue.string),
            "offerDiscountType": (offer?.discountType).map(JSONValue.string),
            "offerPeriod": (offer?.period).map(JSONValue.string),
            "eligibleWinBackOfferIds": eligibleWinBackOfferIds.isEmpty
                ? nil : .array(eligibleWinBackOfferIds.map(JSONValue.string)),
            "signedDate": .number(signedDate.milliseconds),
            "environment": .string(environment.rawValue),
            "recentSubscriptionStartDate": .number(recentSubscriptionStartDate.milliseconds),
            "renewalDate": .number(renewalDate.milliseconds),
            "currency": .string("USD"),
            "renewalPrice": .number(renewalPrice),
            "appAccountToken": appAccountToken.map(JSONValue.string),
            "appTransactionId": .string(appTransactionId),
        ])
    }
}
