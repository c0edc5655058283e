package import ReceiptBridgeBase

/// What one notification, or one row of a refund history, reports about a purchase.
package struct RecordReport: Sendable {
    package typealias Transaction = (row: TransactionRow, text: EncodedJWS)

    /// Whether the purchase's customer needs a lookup although the records are stored.
    package enum Lookup: Sendable, Hashable {
        case needed, notNeeded
        /// It depends on what is stored about the purchase, see
        /// ``StalenessCause/refund(isLatest:isSubscription:isKnownRevocation:)``.
        case ofRefund(at: Timestamp)
    }

    package enum Event: Sendable {
        case notification(NotificationMembers)
        /// Only if there was none of this refund.
        case refund(EventSource)
    }

    /// Original transaction id of the purchase; `nil` if the notification is about none.
    package let purchase: String?
    /// Since when a customer is stale if the records do not describe the change completely.
    package let clock: Timestamp
    package let lookup: Lookup
    package let transaction: Transaction?
    let subscriptions: [SubscriptionColumns]
    package let event: Event?

    package init(
        _ notification: NotificationRow, _ update: NotificationUpdate, as texts: EncodedNotification,
        recordsEvents: Bool
    ) {
        purchase = update.originalTransactionId
        clock = notification.clock
        lookup = update.needsLookup ? .needed : .notNeeded
        transaction = update.transaction.flatMap { row in texts.transaction.map { (row, $0) } }
        subscriptions = SubscriptionColumns.rows(update, as: texts)
        event =
            recordsEvents && purchase != nil
            ? .notification(NotificationMembers(notification, update, as: texts)) : nil
    }

    package init(_ refund: RefundRow, as text: EncodedJWS, source: EventSource, recordsEvents: Bool) {
        purchase = refund.transaction.originalTransactionId
        clock = refund.transaction.signedDate
        lookup = .ofRefund(at: refund.date)
        transaction = (refund.transaction, text)
        subscriptions = []
        event = recordsEvents ? .refund(source) : nil
    }

    var refundDate: Timestamp? { if case .ofRefund(let date) = lookup { date } else { nil } }

    var identifiers: [String] {
        let row = transaction?.row
        // A lookup of the customer that is being stored locks the download too, see `HistoryWrite`.
        let own = [purchase, row?.transactionId, row?.originalTransactionId, row?.appTransactionId].compactMap(\.self)
        return own + subscriptions.map(\.originalTransactionId)
    }

    /// The purchases whose customers the report can change or belong to.
    var purchases: [String] {
        [purchase, transaction?.row.originalTransactionId, transaction?.row.previousOriginalTransactionId]
            .compactMap(\.self)
    }
}
