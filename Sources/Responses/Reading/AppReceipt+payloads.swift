package import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Signed payloads in the form of a receipt, for responses to clients that present no receipt.
extension AppReceipt {
    /// Adds purchases in ascending order of purchase date and transaction id.
    package mutating func add(_ transactions: [TransactionPayload]) {
        let rows = transactions.indices.map { LatestRow(transactions[$0], at: $0) }
        purchases += rows.sorted(by: <).map { InAppPurchase(transactions[$0.index]) }
    }

    package mutating func add(_ download: AppTransactionPayload) {
        appAppleId = download.appAppleId ?? appAppleId
        applicationVersion = download.applicationVersion ?? applicationVersion
        versionExternalIdentifier = download.versionExternalIdentifier ?? versionExternalIdentifier
        receiptCreationDate = download.receiptCreationDate ?? receiptCreationDate
        originalPurchaseDate = download.originalPurchaseDate ?? originalPurchaseDate
        originalApplicationVersion = download.originalApplicationVersion ?? originalApplicationVersion
    }
}
