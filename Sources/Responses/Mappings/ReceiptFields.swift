package import ReceiptBridgeBase
package import ReceiptBridgeReceipts

/// The properties of an ``AppReceipt``, and the time of the request, which Apple writes next to them.
package enum AppReceiptField: String, ModelField {
    case receiptType, appAppleId, bundleId, applicationVersion, opaqueValue, sha1Hash, deviceReceiptDate, ageRating
    case receiptCreationDate, clientSystemVersion, downloadId, versionExternalIdentifier, originalPurchaseDate
    case originalApplicationVersion, expirationDate, platform, purchases, unknownAttributes, requestDate
    /// Only in Apple's responses, because no attribute of the receipt holds it.
    case preorderDate

    package static let modelName = "AppReceipt"
    package static let place = "receipt"

    package var kind: ValueKind { self == .purchases ? .nested : value(of: AppReceipt(), requestDate: nil).kind }

    /// Absent if the receipt does not have it, for ``purchases``, which are nested objects, and for ``preorderDate``.
    package func value(of receipt: AppReceipt, requestDate: Timestamp?) -> FieldValue {
        switch self {
        case .receiptType: .text(receipt.receiptType)
        case .appAppleId: .number(receipt.appAppleId)
        case .bundleId: .text(receipt.bundleId)
        case .applicationVersion: .text(receipt.applicationVersion)
        case .opaqueValue: .bytes(receipt.opaqueValue)
        case .sha1Hash: .bytes(receipt.sha1Hash)
        case .deviceReceiptDate: .instant(receipt.deviceReceiptDate)
        case .ageRating: .text(receipt.ageRating)
        case .receiptCreationDate: .instant(receipt.receiptCreationDate)
        case .clientSystemVersion: .number(receipt.clientSystemVersion)
        case .downloadId: .number(receipt.downloadId)
        case .versionExternalIdentifier: .number(receipt.versionExternalIdentifier)
        case .originalPurchaseDate: .instant(receipt.originalPurchaseDate)
        case .originalApplicationVersion: .text(receipt.originalApplicationVersion)
        case .expirationDate: .instant(receipt.expirationDate)
        case .platform: .number(receipt.platform)
        case .purchases: .attributes(nil)
        case .preorderDate: .instant(nil)
        case .unknownAttributes: .attributes(receipt.unknownAttributes)
        case .requestDate: .instant(requestDate)
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

    package var kind: ValueKind { value(of: InAppPurchase()).kind }

    func text(of purchase: borrowing InAppPurchase) -> ReceiptText? {
        switch self {
        case .productId: purchase.productIdText
        case .transactionId: purchase.transactionIdText
        case .originalTransactionId: purchase.originalTransactionIdText
        case .promotionalOfferId: purchase.promotionalOfferIdText
        default: nil
        }
    }

    package func value(of purchase: InAppPurchase) -> FieldValue {
        switch self {
        case .quantity: .number(purchase.quantity)
        case .productId: .text(purchase.productId)
        case .transactionId: .text(purchase.transactionId)
        case .purchaseDate: .instant(purchase.purchaseDate)
        case .originalTransactionId: .text(purchase.originalTransactionId)
        case .originalPurchaseDate: .instant(purchase.originalPurchaseDate)
        case .type: .productType(purchase.productType)
        case .expiresDate: .instant(purchase.expiresDate)
        case .productAppleId: .number(purchase.productAppleId)
        case .webOrderLineItemId: .identifier(purchase.webOrderLineItemId)
        case .revocationDate:
            .cancellation(purchase.cancellationDate, isConsumable: purchase.productType == .consumable)
        case .revocationReason:
            .number(
                purchase.cancellationDate == nil || purchase.productType == .consumable
                    ? nil : purchase.cancellationReason)
        case .isTrialPeriod: .flag(purchase.isTrialPeriod)
        case .isInIntroOfferPeriod: .flag(purchase.isInIntroOfferPeriod)
        case .promotionalOfferId: .text(purchase.promotionalOfferId)
        case .inAppOwnershipType: .ownership(purchase.ownershipType)
        case .unknownAttributes:
            .attributes(purchase.unknownAttributes.isEmpty ? nil : purchase.unknownAttributes)
        }
    }
}

extension InAppPurchase {
    package init(_ transaction: TransactionPayload) {
        self.init()
        quantity = transaction.quantity ?? 1
        productId = transaction.productId
        transactionId = transaction.transactionId
        originalTransactionId = transaction.originalTransactionId ?? transaction.transactionId
        purchaseDate = transaction.purchaseDate
        originalPurchaseDate = transaction.originalPurchaseDate
        webOrderLineItemId = transaction.webOrderLineItemId.flatMap { Int64($0) }
        cancellationDate = transaction.revocationDate
        cancellationReason = transaction.revocationDate == nil ? nil : transaction.revocationReason
        isTrialPeriod = transaction.isTrial ? 1 : 0
        if transaction.isAutoRenewable {
            expiresDate = transaction.expiresDate
            isInIntroOfferPeriod = transaction.isInIntroductoryPeriod ? 1 : 0
        }
        if transaction.offerType == OfferType.promotional.rawValue { promotionalOfferId = transaction.offerIdentifier }
        productType = transaction.knownType.flatMap { Self.types[$0] }
        ownershipType = Self.ownerships[transaction.inAppOwnershipType ?? ""]
    }

    private static let types: [ProductType: ReceiptProductType] = [
        .autoRenewable: .autoRenewable, .nonConsumable: .nonConsumable, .consumable: .consumable,
        .nonRenewing: .nonRenewing,
    ]
    private static let ownerships: [String: Int64] = [
        OwnershipType.purchased.rawValue: 0, OwnershipType.familyShared.rawValue: 1,
    ]
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

    /// Such a property is also written into the camelCase element of `transactions`.
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
