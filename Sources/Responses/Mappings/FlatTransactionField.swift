import AppStorePayloads
import ReceiptDecoding

/// The newest transaction of an iOS 6 receipt's subscription, in the flat form of iOS 6 responses. It combines the
/// transaction from the Server API with the values that only the submitted receipt has.
package struct FlatTransaction: Sendable {
    /// The newest transaction of the subscription, from the Server API.
    let transaction: TransactionPayload
    /// The submitted receipt.
    let receipt: TransactionReceipt
    /// The Apple ID of the app; `nil` in the sandbox.
    let appAppleId: Int64?
}

/// The properties of a ``FlatTransaction``.
package enum FlatTransactionField: String, ModelField {
    case originalPurchaseDate, purchaseDate, uniqueIdentifier, uniqueVendorIdentifier, originalTransactionId
    case transactionId, expiresDate, quantity, productId, productAppleId, appAppleId, bundleId, applicationVersion
    case webOrderLineItemId, subscriptionGroupIdentifier, isTrialPeriod, isInIntroOfferPeriod, inAppOwnershipType
    case revocationDate, revocationReason
    case versionExternalIdentifier, promotionalOfferId, offerCodeRefName, isUpgraded, appAccountToken

    package static let modelName = "FlatTransaction"
    package static let place = "latest_receipt_info, latest_expired_receipt_info (iOS 6, from the Server API)"

    package var kind: ValueKind {
        switch self {
        case .originalPurchaseDate, .purchaseDate, .expiresDate: .instant
        case .quantity, .revocationReason: .number
        case .isTrialPeriod, .isInIntroOfferPeriod, .isUpgraded: .flag
        case .revocationDate: .cancellation
        case .productAppleId, .appAppleId: .numberText
        default: .text
        }
    }

    /// Returns the value of the property; `nil` if the response does not have the key.
    package func value(of flat: FlatTransaction) -> FieldValue? {
        switch self {
        case .originalPurchaseDate: TransactionField.originalPurchaseDate.value(of: flat.transaction)
        case .purchaseDate: TransactionField.purchaseDate.value(of: flat.transaction)
        case .uniqueIdentifier: flat.receipt["unique-identifier"].map(FieldValue.text)
        case .uniqueVendorIdentifier: flat.receipt["unique-vendor-identifier"].map(FieldValue.text)
        case .originalTransactionId: TransactionField.originalTransactionId.value(of: flat.transaction)
        case .transactionId: TransactionField.transactionId.value(of: flat.transaction)
        case .expiresDate: TransactionField.expiresDate.value(of: flat.transaction)
        case .quantity: TransactionField.quantity.value(of: flat.transaction)
        case .productId: TransactionField.productId.value(of: flat.transaction)
        case .productAppleId:
            flat.transaction.productId == flat.receipt.productId ? flat.receipt["item-id"].map(FieldValue.text) : nil
        case .appAppleId: (flat.appAppleId.map { "\($0)" } ?? flat.receipt["app-item-id"]).map(FieldValue.text)
        case .bundleId: (flat.transaction.bundleId ?? flat.receipt.bundleId).map(FieldValue.text)
        case .applicationVersion: flat.receipt["bvrs"].map(FieldValue.text)
        case .webOrderLineItemId: TransactionField.webOrderLineItemId.value(of: flat.transaction)
        case .subscriptionGroupIdentifier: TransactionField.subscriptionGroupIdentifier.value(of: flat.transaction)
        case .isTrialPeriod: TransactionField.isTrialPeriod.value(of: flat.transaction)
        case .isInIntroOfferPeriod: TransactionField.isInIntroOfferPeriod.value(of: flat.transaction)
        case .inAppOwnershipType: TransactionField.inAppOwnershipType.value(of: flat.transaction)
        case .revocationDate: TransactionField.revocationDate.value(of: flat.transaction)
        case .revocationReason: TransactionField.revocationReason.value(of: flat.transaction)
        case .versionExternalIdentifier, .promotionalOfferId, .offerCodeRefName, .isUpgraded, .appAccountToken: nil
        }
    }
}
