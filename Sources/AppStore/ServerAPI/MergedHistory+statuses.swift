import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// A history and statuses are two responses, of which either can be older. They are joined by comparing their times.
extension MergedHistory {
    /// Returns the transaction of the history that shows that a status is older than the history: a later period of the
    /// subscription that has begun and is neither revoked nor upgraded, or the same period, signed later, with another
    /// revocation. `nil` if there is none.
    func contradiction(of record: SubscriptionRecord, at now: Timestamp) -> Signed<TransactionPayload>? {
        guard let known = record.transaction?.payload, let date = known.purchaseDate else { return nil }
        return transactions.filter { transaction in
            let row = transaction.payload
            guard row.originalTransactionId == record.originalTransactionId, row.isAutoRenewable else { return false }
            if row.transactionId == known.transactionId {
                return (row.revocationDate == nil) != (known.revocationDate == nil) && !row.isSigned(before: known)
            }
            // Apple renews up to a day before a period begins.
            return row.purchaseDate.map { $0 > date && $0 <= now } ?? false && row.revocationDate == nil
                && row.isUpgraded != true
        }.max { ($0.payload.purchaseDate ?? date) < ($1.payload.purchaseDate ?? date) }
    }

    /// Adds what a status says to the history, and returns the status, or, if it is older than the history, what the
    /// history says in its place.
    mutating func join(_ record: SubscriptionRecord, at now: Timestamp) -> SubscriptionRecord {
        guard let latest = contradiction(of: record, at: now) else {
            if let transaction = record.transaction { add(newer: transaction) }
            return record
        }
        anomalies.append(.statusOlderThanHistory(record.originalTransactionId))
        let isRunning = latest.payload.expiresDate.map { $0 > now } ?? false
        let status =
            if latest.payload.revocationDate != nil {
                SubscriptionStatus.revoked
            } else if isRunning {
                SubscriptionStatus.active
            } else {
                SubscriptionStatus.expired
            }
        return SubscriptionRecord(
            subscriptionGroupIdentifier: record.subscriptionGroupIdentifier,
            originalTransactionId: record.originalTransactionId, status: status, transaction: latest,
            // It is as old as the status, and says why the earlier period ended.
            renewal: nil)
    }
}

/// Values of `status` in Get All Subscription Statuses.
private enum SubscriptionStatus {
    static let active = 1
    static let expired = 2
    static let revoked = 5
}

extension TransactionPayload {
    /// Returns whether this version was signed before another. Without a date, it counts as signed at the same time.
    func isSigned(before other: TransactionPayload) -> Bool {
        guard let date = signedDate, let otherDate = other.signedDate else { return false }
        return date < otherDate
    }
}
