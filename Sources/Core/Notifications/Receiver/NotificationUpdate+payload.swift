import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeStorage

extension NotificationUpdate {
    /// Creates the changes that an authentic notification makes to a customer's records. They come from the signed
    /// records in it and from `data.status`; the notification's type only decides whether a lookup is needed.
    init(_ verified: VerifiedNotification) {
        let payload = verified.notification.payload
        let date =
            payload.signedDate
            ?? [verified.transaction?.payload.signedDate, verified.renewal?.payload.signedDate].compactMap { $0 }.max()
        self.init()
        transaction = verified.transaction.flatMap { TransactionRow($0, date: date) }
        renewal = verified.renewal.flatMap { RenewalRow($0, date: date) }
        if let original = renewal?.originalTransactionId ?? transaction?.originalTransactionId,
            let statusCode = payload.data?.status.flatMap(Int.init(exactly:)), let date
        {
            status = StatusRow(
                originalTransactionId: original, status: statusCode,
                subscriptionGroupIdentifier: verified.transaction?.payload.subscriptionGroupIdentifier, clock: date)
        }
        needsLookup = payload.isPartial || (status == nil && transaction?.isSubscription ?? (renewal != nil))
    }
}

extension NotificationPayload {
    /// For example, an upgrade also changes the transaction that it replaces, and a migration may move transactions to
    /// another purchase; neither is in the payload.
    fileprivate var isPartial: Bool {
        guard unknownContainer == nil else { return true }
        let type = notificationType.map(NotificationType.init(rawValue:))
        switch type {
        case .didChangeRenewalPref, .offerRedeemed: return subtype == "UPGRADE"
        case .migration, .migrate: return true
        default: return !(type?.isKnown ?? false)
        }
    }
}
