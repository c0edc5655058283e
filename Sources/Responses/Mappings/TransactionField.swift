package import ReceiptBridgeReceipts

/// The properties of a ``TransactionPayload``, and the four keys that verifyReceipt uses for its offer.
package enum TransactionField: String, ModelField {
    case quantity, productId, transactionId, originalTransactionId, purchaseDate, originalPurchaseDate, expiresDate
    case webOrderLineItemId, inAppOwnershipType, subscriptionGroupIdentifier, isUpgraded, appAccountToken
    case revocationDate, revocationReason
    /// Derived from `offerType`, `offerDiscountType`, `offerIdentifier` and `purchaseDate`.
    case isTrialPeriod, isInIntroOfferPeriod, promotionalOfferId, offerCodeRefName
    case bundleId, environment, type, offerType, offerIdentifier, offerDiscountType, offerPeriod, signedDate
    case transactionReason, storefront, storefrontId, currency, price, appTransactionId, revocationType
    case revocationPercentage, claims
    case billingPlanType, commitmentInfo, advancedCommerceInfo, previousOriginalTransactionId

    package static let modelName = "TransactionPayload"
    package static let place = "latest_receipt_info[]"

    package static let addedLater: Set<Self> = [
        .billingPlanType, .commitmentInfo, .advancedCommerceInfo, .previousOriginalTransactionId,
    ]

    /// The keys of an offer in a response: the two flags, which rows without an offer have, too, and the identifiers.
    static let offerKeys: [Self] = [.isTrialPeriod, .isInIntroOfferPeriod, .promotionalOfferId, .offerCodeRefName]

    package var kind: ValueKind { value(of: TransactionPayload()).kind }

    /// Returns the value of the property; it is absent if the response does not have the key.
    package func value(of transaction: TransactionPayload) -> FieldValue {
        switch self {
        case .quantity: .number(transaction.quantity ?? 1)
        case .productId: .text(transaction.productId)
        case .transactionId: .text(transaction.transactionId)
        case .originalTransactionId: .text(transaction.originalTransactionId)
        case .purchaseDate: .instant(transaction.purchaseDate)
        case .originalPurchaseDate: .instant(transaction.originalPurchaseDate)
        case .expiresDate: .instant(transaction.isAutoRenewable ? transaction.expiresDate : nil)
        case .webOrderLineItemId: .text(transaction.webOrderLineItemId)
        case .inAppOwnershipType: .text(transaction.inAppOwnershipType)
        case .subscriptionGroupIdentifier: .text(transaction.subscriptionGroupIdentifier)
        case .isUpgraded: .flag(transaction.isUpgraded == true ? 1 : nil)
        case .appAccountToken: .text(transaction.appAccountToken)
        case .revocationDate: .cancellation(transaction.revocationDate, isConsumable: transaction.isConsumable)
        case .revocationReason:
            .number(
                transaction.revocationDate == nil || transaction.isConsumable ? nil : transaction.revocationReason)
        case .isTrialPeriod: .flag(transaction.isTrial ? 1 : 0)
        case .isInIntroOfferPeriod:
            .flag(transaction.isAutoRenewable ? (transaction.isInIntroductoryPeriod ? 1 : 0) : nil)
        case .promotionalOfferId:
            .text(transaction.offerType == OfferType.promotional.rawValue ? transaction.offerIdentifier : nil)
        case .offerCodeRefName:
            .text(transaction.offerType == OfferType.offerCode.rawValue ? transaction.offerIdentifier : nil)
        case .bundleId: .text(transaction.bundleId)
        case .environment: .text(transaction.environment)
        case .type: .text(transaction.type)
        case .offerType: .number(transaction.offerType)
        case .offerIdentifier: .text(transaction.offerIdentifier)
        case .offerDiscountType: .text(transaction.offerDiscountType)
        case .offerPeriod: .text(transaction.offerPeriod)
        case .signedDate: .instant(transaction.signedDate)
        case .transactionReason: .text(transaction.transactionReason)
        case .storefront: .text(transaction.storefront)
        case .storefrontId: .text(transaction.storefrontId)
        case .currency: .text(transaction.currency)
        case .price: .number(transaction.price)
        case .appTransactionId: .text(transaction.appTransactionId)
        case .revocationType: .text(transaction.revocationType)
        case .revocationPercentage: .number(transaction.revocationPercentage)
        case .billingPlanType: .text(transaction.billingPlanType)
        case .previousOriginalTransactionId: .text(transaction.previousOriginalTransactionId)
        // Bytes and objects have no conversion, so a table can only omit the properties.
        case .claims, .commitmentInfo, .advancedCommerceInfo: .bytes(nil)
        }
    }
}
