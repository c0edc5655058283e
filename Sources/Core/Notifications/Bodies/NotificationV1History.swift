import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// A customer's records with those of one notification merged in, because the store or the App Store Server API may
/// not have them yet.
struct NotificationV1History {
    let transactions: [TransactionPayload]
    let renewals: [RenewalPayload]

    init(_ records: CustomerRecords, transaction: TransactionPayload?, renewal: RenewalPayload?) {
        var transactions = records.transactions.map(\.payload)
        if let transaction {
            if let index = transactions.firstIndex(where: { $0.transactionId == transaction.transactionId }) {
                if Self.isNewer(transaction.signedDate, than: transactions[index].signedDate) {
                    transactions[index] = transaction
                }
            } else {
                transactions.append(transaction)
            }
        }
        self.transactions = transactions
        var renewals = records.subscriptions.compactMap { $0.renewal?.payload }
        if let renewal {
            let index = renewals.firstIndex { $0.originalTransactionId == renewal.originalTransactionId }
            if let index {
                if Self.isNewer(renewal.signedDate, than: renewals[index].signedDate) { renewals[index] = renewal }
            } else {
                renewals.append(renewal)
            }
        }
        self.renewals = renewals
    }

    /// Whether the period before this transaction was of the same product; `nil` if no earlier period is known.
    func isSameProductAsBefore(_ transaction: TransactionPayload?) -> Bool? {
        guard let transaction, let date = transaction.purchaseDate, let original = transaction.originalTransactionId
        else { return nil }
        let previous = transactions.filter {
            $0.originalTransactionId == original && $0.transactionId != transaction.transactionId
                && $0.purchaseDate.map { $0 < date } ?? false
        }.max { $0.purchaseDate ?? date < $1.purchaseDate ?? date }
        return previous.map { $0.productId == transaction.productId }
    }

    /// Returns whether a date is later than another; a missing date is the earliest.
    private static func isNewer(_ date: Timestamp?, than other: Timestamp?) -> Bool {
        guard let date else { return false }
        return other.map { date > $0 } ?? true
    }
}
