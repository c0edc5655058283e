package import AppStorePayloads

/// The properties of a ``RenewalPayload``, and the two keys that verifyReceipt uses for its offer.
package enum RenewalField: String, ModelField {
    case originalTransactionId, productId, autoRenewProductId, autoRenewStatus, expirationIntent
    case isInBillingRetryPeriod, gracePeriodExpiresDate, priceIncreaseStatus
    /// Derived from `offerType` and `offerIdentifier`.
    case promotionalOfferId, offerCodeRefName
    case offerType, offerIdentifier, offerDiscountType, offerPeriod, renewalPrice, currency
    case recentSubscriptionStartDate, renewalDate, signedDate, appAccountToken, appTransactionId, environment
    case eligibleWinBackOfferIds, claims, renewalBillingPlanType, commitmentInfo, advancedCommerceInfo

    package static let modelName = "RenewalPayload"
    package static let place = "pending_renewal_info[]"

    package var kind: ValueKind {
        switch self {
        case .autoRenewStatus, .expirationIntent, .priceIncreaseStatus, .offerType, .renewalPrice: .number
        case .isInBillingRetryPeriod: .flag
        case .gracePeriodExpiresDate, .recentSubscriptionStartDate, .renewalDate, .signedDate: .instant
        // These kinds have no conversion, so a table can only omit the properties.
        case .claims, .commitmentInfo, .advancedCommerceInfo: .bytes
        case .eligibleWinBackOfferIds: .attributes
        default: .text
        }
    }

    package static let addedLater: Set<Self> = [.renewalBillingPlanType, .commitmentInfo, .advancedCommerceInfo]

    /// Returns the value of the property; `nil` if the response does not have the key.
    package func value(of renewal: RenewalPayload) -> FieldValue? {
        switch self {
        case .originalTransactionId: renewal.originalTransactionId.map(FieldValue.text)
        case .productId: renewal.productId.map(FieldValue.text)
        case .autoRenewProductId: (renewal.autoRenewProductId ?? renewal.productId).map(FieldValue.text)
        case .autoRenewStatus: renewal.autoRenewStatus.map(FieldValue.number)
        case .expirationIntent: renewal.expirationIntent.map(FieldValue.number)
        case .isInBillingRetryPeriod:
            switch renewal.isInBillingRetryPeriod {
            case true?: .flag(1)
            // Apple's responses contain `"0"` only for subscriptions that have ended.
            case false?: renewal.expirationIntent == nil ? nil : .flag(0)
            case nil: nil
            }
        case .gracePeriodExpiresDate: renewal.gracePeriodExpiresDate.map(FieldValue.instant)
        case .priceIncreaseStatus: renewal.priceIncreaseStatus.map(FieldValue.number)
        case .promotionalOfferId:
            renewal.offerType == OfferType.promotional.rawValue ? renewal.offerIdentifier.map(FieldValue.text) : nil
        case .offerCodeRefName:
            renewal.offerType == OfferType.offerCode.rawValue ? renewal.offerIdentifier.map(FieldValue.text) : nil
        case .offerType: renewal.offerType.map(FieldValue.number)
        case .offerIdentifier: renewal.offerIdentifier.map(FieldValue.text)
        case .offerDiscountType: renewal.offerDiscountType.map(FieldValue.text)
        case .offerPeriod: renewal.offerPeriod.map(FieldValue.text)
        case .renewalPrice: renewal.renewalPrice.map(FieldValue.number)
        case .currency: renewal.currency.map(FieldValue.text)
        case .recentSubscriptionStartDate: renewal.recentSubscriptionStartDate.map(FieldValue.instant)
        case .renewalDate: renewal.renewalDate.map(FieldValue.instant)
        case .signedDate: renewal.signedDate.map(FieldValue.instant)
        case .appAccountToken: renewal.appAccountToken.map(FieldValue.text)
        case .appTransactionId: renewal.appTransactionId.map(FieldValue.text)
        case .environment: renewal.environment.map(FieldValue.text)
        case .renewalBillingPlanType: renewal.renewalBillingPlanType.map(FieldValue.text)
        case .eligibleWinBackOfferIds, .claims, .commitmentInfo, .advancedCommerceInfo: nil
        }
    }
}
