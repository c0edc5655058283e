package import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Signed payloads in the form of a receipt, for responses to clients that present no receipt.
extension AppReceipt {
    /// Adds purchases in ascending order of purchase date and transaction id.
    package mutating func add(_ transactions: [TransactionPayload]) {
        let rows = transactions.indices.map { LatestRow(transactions[$0], at: $0) }
        purchases += rows.sorted(by: <).map { InAppPurchase(transactions[$0.index]) }
    }

    /// Adds what an app transaction says about the app and its download.
    package mutating func add(_ download: AppTransactionPayload) {
        appAppleId = download.appAppleId ?? appAppleId
        applicationVersion = download.applicationVersion ?? applicationVersion
        versionExternalIdentifier = download.versionExternalIdentifier ?? versionExternalIdentifier
        receiptCreationDate = download.receiptCreationDate ?? receiptCreationDate
        originalPurchaseDate = download.originalPurchaseDate ?? originalPurchaseDate
        originalApplicationVersion = download.originalApplicationVersion ?? originalApplicationVersion
    }
}

extension InAppPurchase {
    /// The attributes that a receipt would hold of a transaction.
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
