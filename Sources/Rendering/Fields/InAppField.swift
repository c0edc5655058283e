package import ReceiptDecoding

/// The properties of an ``InAppPurchase``, with the names that the App Store Server API uses.
package enum InAppField: String, ModelField {
    case quantity, productId, transactionId, purchaseDate, originalTransactionId, originalPurchaseDate, type
    case expiresDate, productAppleId, webOrderLineItemId, revocationDate, revocationReason, isTrialPeriod,
        isInIntroOfferPeriod
    case promotionalOfferId, inAppOwnershipType, unknownAttributes

    package static let modelName = "InAppPurchase"
    package static let place = "receipt.in_app[]"

    package var kind: ValueKind {
        switch self {
        case .quantity, .productAppleId, .revocationReason: .number
        case .productId, .transactionId, .originalTransactionId, .promotionalOfferId: .text
        case .purchaseDate, .originalPurchaseDate, .expiresDate: .instant
        case .type: .productType
        case .webOrderLineItemId: .identifier
        case .revocationDate: .cancellation
        case .isTrialPeriod, .isInIntroOfferPeriod: .flag
        case .inAppOwnershipType: .ownership
        case .unknownAttributes: .attributes
        }
    }

    /// Returns the value of the property; `nil` if the purchase does not have it.
    package func value(of purchase: InAppPurchase) -> FieldValue? {
        switch self {
        case .quantity: purchase.quantity.map(FieldValue.number)
        case .productId: purchase.productId.map(FieldValue.text)
        case .transactionId: purchase.transactionId.map(FieldValue.text)
        case .purchaseDate: purchase.purchaseDate.map(FieldValue.instant)
        case .originalTransactionId: purchase.originalTransactionId.map(FieldValue.text)
        case .originalPurchaseDate: purchase.originalPurchaseDate.map(FieldValue.instant)
        case .type: purchase.productType.map(FieldValue.productType)
        case .expiresDate: purchase.expiresDate.map(FieldValue.instant)
        case .productAppleId: purchase.productAppleId.map(FieldValue.number)
        case .webOrderLineItemId: purchase.webOrderLineItemId.map(FieldValue.identifier)
        case .revocationDate:
            purchase.cancellationDate.map { .cancellation($0, isConsumable: purchase.productType == .consumable) }
        case .revocationReason:
            purchase.productType == .consumable ? nil : purchase.cancellationReason.map(FieldValue.number)
        case .isTrialPeriod: purchase.isTrialPeriod.map(FieldValue.flag)
        case .isInIntroOfferPeriod: purchase.isInIntroOfferPeriod.map(FieldValue.flag)
        case .promotionalOfferId: purchase.promotionalOfferId.map(FieldValue.text)
        case .inAppOwnershipType: purchase.ownershipType.map(FieldValue.ownership)
        case .unknownAttributes:
            purchase.unknownAttributes.isEmpty ? nil : .attributes(purchase.unknownAttributes)
        }
    }
}
