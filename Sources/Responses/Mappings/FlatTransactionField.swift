import ReceiptBridgeReceipts

/// The newest transaction of an iOS 6 receipt's subscription, in the flat form of iOS 6 responses. It combines the
/// transaction from the Server API with the values that only the submitted receipt has.
package struct FlatTransaction: Sendable {
    /// The newest transaction of the subscription, from the Server API.
    let transaction: TransactionPayload
    /// The submitted receipt.
    let receipt: TransactionReceipt
    /// The Apple ID of the app; `nil` in the sandbox.
    let appAppleId: Int64?

    /// `is_in_intro_offer_period` of the receipt, if its transaction is the newest one.
    fileprivate var ownIntroductoryFlag: FieldValue? {
        guard transaction.transactionId == receipt.transactionId else { return nil }
        return receipt["is-in-intro-offer-period"].map { .flag($0 == "true" || $0 == "1" ? 1 : 0) }
    }
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
        case .productAppleId, .appAppleId: .numberText
        default: TransactionField(rawValue: rawValue)?.kind ?? .text
        }
    }

    /// Returns the value of the property; it is absent if the response does not have the key.
    ///
    /// A property that is not the receipt's is the transaction's property of the same name.
    package func value(of flat: FlatTransaction) -> FieldValue {
        switch self {
        case .uniqueIdentifier: .text(flat.receipt["unique-identifier"])
        case .uniqueVendorIdentifier: .text(flat.receipt["unique-vendor-identifier"])
        case .productAppleId:
            .text(flat.transaction.productId == flat.receipt.productId ? flat.receipt["item-id"] : nil)
        case .appAppleId: .text(flat.appAppleId.map { "\($0)" } ?? flat.receipt["app-item-id"])
        case .bundleId: .text(flat.transaction.bundleId ?? flat.receipt.bundleId)
        case .applicationVersion: .text(flat.receipt["bvrs"])
        case .isInIntroOfferPeriod where flat.transaction.isIntroductoryFlagUnknown:
            flat.ownIntroductoryFlag ?? TransactionField.isInIntroOfferPeriod.value(of: flat.transaction)
        case .versionExternalIdentifier, .promotionalOfferId, .offerCodeRefName, .isUpgraded, .appAccountToken:
            .text(nil)
        default: TransactionField(rawValue: rawValue)?.value(of: flat.transaction) ?? .text(nil)
        }
    }
}
