import AppStore
import StoreTypes

/// The rows of a version 1 body's `latest_receipt_info`.
///
/// The newest hundred by purchase, the event's own in any case; a consumable only where it is the event's own, since
/// nothing tells which others the app has finished. What expires last stands first, what does not expire behind, the
/// newest first. The event's own shows its refund, also a consumable's, which verifyReceipt never did.
enum NotificationV1Receipt {
    static func rows(
        of transactions: [TransactionPayload], about own: TransactionPayload?
    ) -> [TransactionPayload] {
        let kept = transactions.filter { !$0.isConsumable || isOwn($0, own) }
        let ordered = kept.enumerated().sorted { left, right in
            let (first, second) = (Order(left.element, left.offset), Order(right.element, right.offset))
            return first.isNewer(than: second)
        }.map(\.element)
        var newest = Array(ordered.prefix(LatestRows.cap))
        if let behind = ordered.dropFirst(LatestRows.cap).first(where: { isOwn($0, own) }) {
            newest[newest.count - 1] = behind
        }
        return newest.enumerated().sorted { left, right in
            let dates = (left.element.expiry, right.element.expiry)
            return dates.0 == dates.1 ? left.offset < right.offset : dates.0 > dates.1
        }.map { isOwn($0.element, own) ? $0.element.showingItsRefund : $0.element }
    }

    private static func isOwn(_ row: TransactionPayload, _ own: TransactionPayload?) -> Bool {
        row.transactionId != nil && row.transactionId == own?.transactionId
    }

    /// By purchase date, then by the id as a number.
    private struct Order {
        let row: LatestRow

        init(_ transaction: TransactionPayload, _ place: Int) {
            row = LatestRow(
                place: place, milliseconds: transaction.purchaseDate?.milliseconds,
                transactionId: transaction.transactionId, subscription: nil)
        }

        func isNewer(than other: Order) -> Bool { other.row < row }
    }
}

extension TransactionPayload {
    /// What does not expire stands behind everything that does.
    fileprivate var expiry: Int64 { isAutoRenewable ? expiresDate?.milliseconds ?? .min : .min }

    /// The tables show no refund of a consumable; this one is not called that.
    fileprivate var showingItsRefund: TransactionPayload {
        guard isConsumable, revocationDate != nil else { return self }
        var row = self
        row.type = ProductType.nonConsumable.rawValue
        return row
    }
}
