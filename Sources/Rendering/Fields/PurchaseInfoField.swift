/// The known keys of an iOS 6 `purchase-info`, and the three lines outside it.
///
/// All values are text and are copied into responses unchanged. The value kinds only affect the camelCase output.
package enum PurchaseInfoField: String, ModelField {
    case originalPurchaseDateFormatted, originalPurchaseDate, originalPurchaseDateFormattedPst
    case purchaseDateFormatted, purchaseDate, purchaseDateFormattedPst
    case expiresDate, expiresDateFormatted, expiresDateFormattedPst
    case revocationDateFormatted, revocationDate, revocationDateFormattedPst
    case transactionId, originalTransactionId, productId, productAppleId, quantity, webOrderLineItemId
    case subscriptionGroupIdentifier, isTrialPeriod, isInIntroOfferPeriod, inAppOwnershipType
    case bundleId, applicationVersion, appAppleId, versionExternalIdentifier, uniqueIdentifier, uniqueVendorIdentifier
    case pod, signingStatus, claimedEnvironment

    package static let modelName = "TransactionReceipt"
    package static let place = "receipt, latest_receipt_info, latest_expired_receipt_info (iOS 6)"
    package static let hasPropertyListKeys = true

    package var kind: ValueKind {
        switch self {
        case .originalPurchaseDate, .purchaseDate, .expiresDate, .revocationDate: .millisecondsText
        case .productAppleId, .quantity, .appAppleId, .versionExternalIdentifier: .numberText
        case .isTrialPeriod, .isInIntroOfferPeriod: .flagText
        default: .text
        }
    }

    /// Whether the property belongs to the transaction. If so, it is also written into the camelCase element of
    /// `transactions`.
    package var isOfTransaction: Bool {
        switch self {
        case .originalPurchaseDate, .purchaseDate, .expiresDate, .revocationDate, .transactionId,
            .originalTransactionId, .productId, .productAppleId, .quantity, .webOrderLineItemId,
            .subscriptionGroupIdentifier, .isTrialPeriod, .isInIntroOfferPeriod, .inAppOwnershipType:
            true
        default: false
        }
    }
}
