package import AppStorePayloads
import ReceiptDecoding

/// The properties of a ``TransactionPayload``, and the four keys that verifyReceipt uses for its offer.
package enum TransactionField: String, ModelField {
    case quantity, productId, transactionId, originalTransactionId, purchaseDate, originalPurchaseDate, expiresDate
    case webOrderLineItemId, inAppOwnershipType, subscriptionGroupIdentifier, isUpgraded, appAccountToken
    case revocationDate, revocationReason
    /// Derived from `offerType`, `offerDiscountType` and `offerIdentifier`.
    case isTrialPeriod, isInIntroOfferPeriod, promotionalOfferId, offerCodeRefName
    case bundleId, environment, type, offerType, offerIdentifier, offerDiscountType, offerPeriod, signedDate
    case transactionReason, storefront, storefrontId, currency, price, appTransactionId, revocationType
    case revocationPercentage, claims
    case billingPlanType, commitmentInfo, advancedCommerceInfo, previousOriginalTransactionId

    package static let modelName = "TransactionPayload"
    package static let place = "latest_receipt_info[]"

    package var kind: ValueKind {
        switch self {
        case .quantity, .revocationReason, .offerType, .price, .revocationPercentage: .number
        case .purchaseDate, .originalPurchaseDate, .expiresDate, .signedDate: .instant
        case .isUpgraded, .isTrialPeriod, .isInIntroOfferPeriod: .flag
        case .revocationDate: .cancellation
        case .claims, .commitmentInfo, .advancedCommerceInfo: .bytes
        default: .text
        }
    }

    package static let addedLater: Set<Self> = [
        .billingPlanType, .commitmentInfo, .advancedCommerceInfo, .previousOriginalTransactionId,
    ]

    /// Returns the value of the property; `nil` if the response does not have the key.
    package func value(of transaction: TransactionPayload) -> FieldValue? {
        switch self {
        case .quantity: .number(transaction.quantity ?? 1)
        case .productId: transaction.productId.map(FieldValue.text)
        case .transactionId: transaction.transactionId.map(FieldValue.text)
        case .originalTransactionId: transaction.originalTransactionId.map(FieldValue.text)
        case .purchaseDate: transaction.purchaseDate.map(FieldValue.instant)
        case .originalPurchaseDate: transaction.originalPurchaseDate.map(FieldValue.instant)
        case .expiresDate: transaction.isAutoRenewable ? transaction.expiresDate.map(FieldValue.instant) : nil
        case .webOrderLineItemId: transaction.webOrderLineItemId.map(FieldValue.text)
        case .inAppOwnershipType: transaction.inAppOwnershipType.map(FieldValue.text)
        case .subscriptionGroupIdentifier: transaction.subscriptionGroupIdentifier.map(FieldValue.text)
        case .isUpgraded: transaction.isUpgraded == true ? .flag(1) : nil
        case .appAccountToken: transaction.appAccountToken.map(FieldValue.text)
        case .revocationDate:
            transaction.revocationDate.map { .cancellation($0, isConsumable: transaction.isConsumable) }
        case .revocationReason:
            transaction.revocationDate == nil || transaction.isConsumable
                ? nil : transaction.revocationReason.map(FieldValue.number)
        case .isTrialPeriod: .flag(transaction.isTrial ? 1 : 0)
        case .isInIntroOfferPeriod: transaction.isAutoRenewable ? .flag(transaction.isPaidIntroduction ? 1 : 0) : nil
        case .promotionalOfferId:
            transaction.offerType == OfferType.promotional.rawValue
                ? transaction.offerIdentifier.map(FieldValue.text) : nil
        case .offerCodeRefName:
            transaction.offerType == OfferType.offerCode.rawValue
                ? transaction.offerIdentifier.map(FieldValue.text) : nil
        case .bundleId: transaction.bundleId.map(FieldValue.text)
        case .environment: transaction.environment.map(FieldValue.text)
        case .type: transaction.type.map(FieldValue.text)
        case .offerType: transaction.offerType.map(FieldValue.number)
        case .offerIdentifier: transaction.offerIdentifier.map(FieldValue.text)
        case .offerDiscountType: transaction.offerDiscountType.map(FieldValue.text)
        case .offerPeriod: transaction.offerPeriod.map(FieldValue.text)
        case .signedDate: transaction.signedDate.map(FieldValue.instant)
        case .transactionReason: transaction.transactionReason.map(FieldValue.text)
        case .storefront: transaction.storefront.map(FieldValue.text)
        case .storefrontId: transaction.storefrontId.map(FieldValue.text)
        case .currency: transaction.currency.map(FieldValue.text)
        case .price: transaction.price.map(FieldValue.number)
        case .appTransactionId: transaction.appTransactionId.map(FieldValue.text)
        case .revocationType: transaction.revocationType.map(FieldValue.text)
        case .revocationPercentage: transaction.revocationPercentage.map(FieldValue.number)
        case .billingPlanType: transaction.billingPlanType.map(FieldValue.text)
        case .previousOriginalTransactionId: transaction.previousOriginalTransactionId.map(FieldValue.text)
        // Bytes and objects have no conversion, so a table can only omit the properties.
        case .claims, .commitmentInfo, .advancedCommerceInfo: nil
        }
    }
}

extension TransactionPayload {
    /// Whether the period is free, whatever the type of the offer. An introductory offer without a discount type
    /// counts as free if its price is 0.
    var isTrial: Bool {
        guard let discount = offerDiscountType else {
            return offerType == OfferType.introductory.rawValue && price == 0
        }
        return discount == OfferDiscountType.freeTrial.rawValue
    }

    /// Whether the period has an introductory price and is not free.
    var isPaidIntroduction: Bool { offerType == OfferType.introductory.rawValue && !isTrial }
}
