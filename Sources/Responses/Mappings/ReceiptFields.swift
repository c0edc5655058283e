package import Base
package import ReceiptDecoding

/// The properties of an ``AppReceipt``, and the time of the request, which Apple writes next to them.
package enum AppReceiptField: String, ModelField {
    case receiptType, appAppleId, bundleId, applicationVersion, opaqueValue, sha1Hash, deviceReceiptDate, ageRating
    case receiptCreationDate, clientSystemVersion, downloadId, versionExternalIdentifier, originalPurchaseDate
    case originalApplicationVersion, expirationDate, platform, purchases, unknownAttributes, requestDate
    /// Only in Apple's responses, because no attribute of the receipt holds it.
    case preorderDate

    package static let modelName = "AppReceipt"
    package static let place = "receipt"

    package var kind: ValueKind {
        switch self {
        case .receiptType, .bundleId, .applicationVersion, .ageRating, .originalApplicationVersion: .text
        case .appAppleId, .clientSystemVersion, .downloadId, .versionExternalIdentifier, .platform: .number
        case .opaqueValue, .sha1Hash: .bytes
        case .deviceReceiptDate, .receiptCreationDate, .originalPurchaseDate, .expirationDate, .requestDate,
            .preorderDate:
            .instant
        case .purchases: .nested
        case .unknownAttributes: .attributes
        }
    }

    /// Returns the value of the property; `nil` if the receipt does not have it. Also `nil` for ``purchases``, which
    /// are nested objects, and for ``preorderDate``.
    package func value(of receipt: AppReceipt, requestDate: Timestamp?) -> FieldValue? {
        switch self {
        case .receiptType: receipt.receiptType.map(FieldValue.text)
        case .appAppleId: receipt.appAppleId.map(FieldValue.number)
        case .bundleId: receipt.bundleId.map(FieldValue.text)
        case .applicationVersion: receipt.applicationVersion.map(FieldValue.text)
        case .opaqueValue: receipt.opaqueValue.map(FieldValue.bytes)
        case .sha1Hash: receipt.sha1Hash.map(FieldValue.bytes)
        case .deviceReceiptDate: receipt.deviceReceiptDate.map(FieldValue.instant)
        case .ageRating: receipt.ageRating.map(FieldValue.text)
        case .receiptCreationDate: receipt.receiptCreationDate.map(FieldValue.instant)
        case .clientSystemVersion: receipt.clientSystemVersion.map(FieldValue.number)
        case .downloadId: receipt.downloadId.map(FieldValue.number)
        case .versionExternalIdentifier: receipt.versionExternalIdentifier.map(FieldValue.number)
        case .originalPurchaseDate: receipt.originalPurchaseDate.map(FieldValue.instant)
        case .originalApplicationVersion: receipt.originalApplicationVersion.map(FieldValue.text)
        case .expirationDate: receipt.expirationDate.map(FieldValue.instant)
        case .platform: receipt.platform.map(FieldValue.number)
        case .purchases, .preorderDate: nil
        case .unknownAttributes: .attributes(receipt.unknownAttributes)
        case .requestDate: requestDate.map(FieldValue.instant)
        }
    }
}

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

    /// Returns where the text of the property is; `nil` if the property is no text.
    func text(of purchase: borrowing InAppPurchase) -> ReceiptText? {
        switch self {
        case .productId: purchase.productIdText
        case .transactionId: purchase.transactionIdText
        case .originalTransactionId: purchase.originalTransactionIdText
        case .promotionalOfferId: purchase.promotionalOfferIdText
        default: nil
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
            purchase.cancellationDate == nil || purchase.productType == .consumable
                ? nil : purchase.cancellationReason.map(FieldValue.number)
        case .isTrialPeriod: purchase.isTrialPeriod.map(FieldValue.flag)
        case .isInIntroOfferPeriod: purchase.isInIntroOfferPeriod.map(FieldValue.flag)
        case .promotionalOfferId: purchase.promotionalOfferId.map(FieldValue.text)
        case .inAppOwnershipType: purchase.ownershipType.map(FieldValue.ownership)
        case .unknownAttributes:
            purchase.unknownAttributes.isEmpty ? nil : .attributes(purchase.unknownAttributes)
        }
    }
}

/// The known keys of an iOS 6 `purchase-info`, and the three lines outside it.
///
/// All values are text and are copied into responses unchanged. The value kinds only affect the camelCase output.
package enum PurchaseInfoField: String, ModelField {
    case originalPurchaseDateFormatted, originalPurchaseDate, originalPurchaseDateFormattedPst
    case purchaseDateFormatted, purchaseDate, purchaseDateFormattedPst
    case expiresDate, expiresDateFormatted, expiresDateFormattedPst
    case revocationDateFormatted, revocationDate, revocationDateFormattedPst, revocationReason
    case transactionId, originalTransactionId, productId, productAppleId, quantity, webOrderLineItemId
    case subscriptionGroupIdentifier, isTrialPeriod, isInIntroOfferPeriod, inAppOwnershipType
    case bundleId, applicationVersion, appAppleId, versionExternalIdentifier, uniqueIdentifier, uniqueVendorIdentifier
    case pod, signingStatus, claimedEnvironment

    package static let modelName = "TransactionReceipt"
    package static let place = "receipt, latest_receipt_info, latest_expired_receipt_info (iOS 6)"
    package static let hasPropertyListKeys = true
    package static let addedLater: Set<Self> = [.revocationReason]

    package var kind: ValueKind {
        switch self {
        case .originalPurchaseDate, .purchaseDate, .expiresDate, .revocationDate: .millisecondsText
        case .productAppleId, .quantity, .appAppleId, .versionExternalIdentifier, .revocationReason: .numberText
        case .isTrialPeriod, .isInIntroOfferPeriod: .flagText
        default: .text
        }
    }

    /// Whether the property belongs to the transaction. If so, it is also written into the camelCase element of
    /// `transactions`.
    var belongsToTransaction: Bool {
        switch self {
        case .originalPurchaseDate, .purchaseDate, .expiresDate, .revocationDate, .revocationReason, .transactionId,
            .originalTransactionId, .productId, .productAppleId, .quantity, .webOrderLineItemId,
            .subscriptionGroupIdentifier, .isTrialPeriod, .isInIntroOfferPeriod, .inAppOwnershipType:
            true
        default: false
        }
    }
}
