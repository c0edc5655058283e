import AppStore
import ReceiptDecoding
import StoreTypes

extension ReceiptContents {
    /// Whether the receipt may have been overtaken: an auto-renewable in it has no period that covers now, and its newest
    /// is not known to be cancelled. Its renewal would be news that only Apple has.
    func mayBeStale(at now: Timestamp) -> Bool {
        switch self {
        case .app(let receipt):
            let subscriptions = Dictionary(grouping: receipt.purchases.filter(\.isAutoRenewable)) {
                $0.originalTransactionId ?? $0.transactionId ?? ""
            }
            return subscriptions.values.contains { periods in
                // The refund of an older period says nothing of what came behind it.
                let newest = periods.max { $0.place < $1.place }
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
    /// Among the periods of its subscription.
    fileprivate var place: (Int64, Int64) {
        (purchaseDate?.milliseconds ?? .min, expiresDate?.milliseconds ?? .min)
    }
}

extension CustomerRecords {
    /// How long the news of a renewal may be on its way, in milliseconds.
    private static let renewalDelay: Int64 = 600_000

    /// Whether a subscription that is called over ended minutes ago and was to renew: the renewal may be done, and only
    /// its news on the way. One in billing retry or revoked is not meant.
    func mayBeRenewing(at now: Timestamp) -> Bool {
        subscriptions.contains { subscription in
            guard subscription.status == 2, subscription.renewal?.payload.autoRenewStatus == 1,
                subscription.renewal?.payload.isInBillingRetryPeriod != true,
                let ended = subscription.transaction?.payload.expiresDate
            else { return false }
            return ended <= now && now < ended.advanced(byMilliseconds: Self.renewalDelay)
        }
    }
}
