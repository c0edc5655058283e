import AppStore
import Ledger
import StoreTypes

extension NotificationUpdate {
    /// What a genuine notification tells: state comes from the signed records in it and `data.status`; its type is only a
    /// reason.
    init(_ verified: VerifiedNotification) {
        let payload = verified.notification.payload
        let date =
            payload.signedDate
            ?? [verified.transaction?.payload.signedDate, verified.renewal?.payload.signedDate].compactMap { $0 }.max()
        self.init()
        transaction = verified.transaction.flatMap { TransactionRow($0, date: date) }
        renewal = verified.renewal.flatMap { RenewalRow($0, date: date) }
        if let original = renewal?.originalTransactionId ?? transaction?.originalTransactionId,
            let number = payload.data?.status.flatMap(Int.init(exactly:)), let date
        {
            status = StatusRow(
                originalTransactionId: original, status: number,
                subscriptionGroupIdentifier: verified.transaction?.payload.subscriptionGroupIdentifier, clock: date)
        }
        needsLookup = payload.tellsOnlyPart || (status == nil && transaction?.isSubscription ?? (renewal != nil))
    }
}

extension NotificationPayload {
    /// An upgrade changes the row that it replaces, too, and a migration may change where rows belong; neither is in the
    /// payload.
    fileprivate var tellsOnlyPart: Bool {
        let type = notificationType.map(NotificationType.init(rawValue:))
        switch type {
        case .didChangeRenewalPref, .offerRedeemed: return subtype == "UPGRADE"
        case .migration, .migrate: return true
        default: return !(type?.isKnown ?? false)
        }
    }
}
