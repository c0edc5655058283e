package import ReceiptBridgeReceipts

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

    package static let addedLater: Set<Self> = [.renewalBillingPlanType, .commitmentInfo, .advancedCommerceInfo]

    package var kind: ValueKind { value(of: RenewalPayload()).kind }

    /// Returns the value of the property; it is absent if the response does not have the key.
    package func value(of renewal: RenewalPayload) -> FieldValue {
        switch self {
        case .originalTransactionId: .text(renewal.originalTransactionId)
        case .productId: .text(renewal.productId)
        case .autoRenewProductId: .text(renewal.autoRenewProductId ?? renewal.productId)
        case .autoRenewStatus: .number(renewal.autoRenewStatus)
        case .expirationIntent: .number(renewal.expirationIntent)
        case .isInBillingRetryPeriod:
            switch renewal.isInBillingRetryPeriod {
            case true?: .flag(1)
            // Apple's responses of 2020 contain `"0"` only for subscriptions that have ended.
            case false?: .flag(renewal.expirationIntent == nil ? nil : 0)
            case nil: .flag(nil)
            }
        case .gracePeriodExpiresDate: .instant(renewal.gracePeriodExpiresDate)
        case .priceIncreaseStatus: .number(renewal.priceIncreaseStatus)
        case .promotionalOfferId:
            .text(renewal.offerType == OfferType.promotional.rawValue ? renewal.offerIdentifier : nil)
        case .offerCodeRefName:
            .text(renewal.offerType == OfferType.offerCode.rawValue ? renewal.offerIdentifier : nil)
        case .offerType: .number(renewal.offerType)
        case .offerIdentifier: .text(renewal.offerIdentifier)
        case .offerDiscountType: .text(renewal.offerDiscountType)
        case .offerPeriod: .text(renewal.offerPeriod)
        case .renewalPrice: .number(renewal.renewalPrice)
        case .currency: .text(renewal.currency)
        case .recentSubscriptionStartDate: .instant(renewal.recentSubscriptionStartDate)
        case .renewalDate: .instant(renewal.renewalDate)
        case .signedDate: .instant(renewal.signedDate)
        case .appAccountToken: .text(renewal.appAccountToken)
        case .appTransactionId: .text(renewal.appTransactionId)
        case .environment: .text(renewal.environment)
        case .renewalBillingPlanType: .text(renewal.renewalBillingPlanType)
        // These kinds have no conversion, so a table can only omit the properties.
        case .eligibleWinBackOfferIds: .attributes(nil)
        case .claims, .commitmentInfo, .advancedCommerceInfo: .bytes(nil)
        }
    }
}
