import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Selects and orders the rows of `latest_receipt_info` in the body of a version 1 notification.
///
/// The rows are the 100 most recent purchases, and always the purchase of the event. A consumable is included only if
/// it is the purchase of the event, because it is unknown which other consumables the app has finished. The row that
/// expires last is the first; rows without an expiry date follow, the most recent first. The row of the event shows
/// its refund even if it is a consumable, which verifyReceipt never did.
enum NotificationV1Receipt {
    /// Returns the rows in the order of the response.
    ///
    /// - Parameter own: the transaction of the event; `nil` if it has none.
    static func rows(of transactions: [TransactionPayload], about own: TransactionPayload?) -> [TransactionPayload] {
        let included = transactions.filter { !$0.isConsumable || isOwn($0, own) }
        let ordered = included.indices.map { LatestRow(included[$0], at: $0) }.sorted(by: >).map { included[$0.index] }
        var newest = Array(ordered.prefix(LatestRows.cap))
        if let excluded = ordered.dropFirst(LatestRows.cap).first(where: { isOwn($0, own) }) {
            newest[newest.count - 1] = excluded
        }
        return newest.enumerated().sorted { left, right in
            let dates = (left.element.expiry, right.element.expiry)
            return dates.0 == dates.1 ? left.offset < right.offset : dates.0 > dates.1
        }.map { isOwn($0.element, own) ? $0.element.showingItsRefund : $0.element }
    }

    private static func isOwn(_ row: TransactionPayload, _ own: TransactionPayload?) -> Bool {
        row.transactionId != nil && row.transactionId == own?.transactionId
    }
}

extension TransactionPayload {
    /// Sorts rows without an expiry date after all others.
    fileprivate var expiry: Int64 { isAutoRenewable ? expiresDate?.milliseconds ?? .min : .min }

    /// The field tables hide the refund of a consumable, so the type is changed to show it.
    fileprivate var showingItsRefund: TransactionPayload {
        guard isConsumable, revocationDate != nil else { return self }
        var row = self
        row.type = ProductType.nonConsumable.rawValue
        return row
    }
}
