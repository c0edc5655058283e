import AppStorePayloads
import Base
import ReceiptDecoding

extension ReceiptContents {
    /// Returns whether the receipt may be out of date: an auto-renewable in it has no period that covers `now`, and the
    /// newest period is not canceled. Only Apple knows whether such a subscription was renewed.
    func mayBeStale(at now: Timestamp) -> Bool {
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

extension CustomerRecords {
    /// The time after its due date at which a renewal may still be missing from the records.
    private static let renewalDelay = Duration.minutes(10)

    /// Returns whether a subscription with status 2 (expired) ended at most ten minutes ago and was to renew. Such a
    /// renewal may have happened without being in the records yet. A subscription in billing retry (3) or a revoked one
    /// (5) does not count.
    func mayBeRenewing(at now: Timestamp) -> Bool {
        subscriptions.contains { subscription in
            guard subscription.status == 2, subscription.renewal?.payload.autoRenewStatus == 1,
                subscription.renewal?.payload.isInBillingRetryPeriod != true,
                let ended = subscription.transaction?.payload.expiresDate
            else { return false }
            return ended <= now && now < ended.advanced(by: Self.renewalDelay)
        }
    }
}
