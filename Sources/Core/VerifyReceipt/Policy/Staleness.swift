package import ReceiptBridgeBase
package import ReceiptBridgeReceipts

extension ReceiptContents {
    /// Returns whether the receipt may be out of date: an auto-renewable in it has no period that covers `now`, and the
    /// newest period is not canceled. Only Apple knows whether such a subscription was renewed.
    package func mayBeStale(at now: Timestamp) -> Bool {
        switch self {
        case .app(let receipt):
            let subscriptions = Dictionary(grouping: receipt.purchases.filter(\.isAutoRenewable)) {
                $0.originalTransactionId ?? $0.transactionId ?? ""
            }
            return subscriptions.values.contains { periods in
                // The refund of an older period says nothing about the periods after it.
                let newest = periods.max { $0.sortKey < $1.sortKey }
                let isRunning = periods.contains {
                    $0.cancellationDate == nil && $0.expiresDate.map { $0 > now } == true
                }
                return !isRunning && newest?.cancellationDate == nil
            }
        case .transaction(let receipt):
            guard receipt.isAutoRenewable, !receipt.isCancelled else { return false }
            return !(receipt.expiresDate.map { $0 > now } ?? false)
        }
    }
}

extension InAppPurchase {
    /// The sort key of a period within its subscription: purchase date, then expiry date, both in ms.
    fileprivate var sortKey: (Int64, Int64) {
        (purchaseDate?.milliseconds ?? .min, expiresDate?.milliseconds ?? .min)
    }
}
