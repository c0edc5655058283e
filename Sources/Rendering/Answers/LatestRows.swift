import ReceiptDecoding
import StoreTypes

/// Which purchases `latest_receipt_info` shows, and in which order.
enum LatestRows {
    /// Apple shows no more than this many.
    static let cap = 100

    /// Places in `purchases`: thinned when asked for, then the newest ``cap``, then ordered.
    static func indices(of purchases: [InAppPurchase], options: AnswerOptions) -> [Int] {
        var rows = purchases.indices.map { Row(place: $0, purchase: purchases[$0]) }.sorted(by: <)
        if options.excludesOldTransactions { rows = newest(of: rows, in: purchases) }
        let newest = rows.suffix(cap).map(\.place)
        return options.latestReceiptInfoOrder == .ascending ? newest : newest.reversed()
    }

    /// Of each auto-renewable subscription the last row, out of rows in ascending order.
    private static func newest(of rows: [Row], in purchases: [InAppPurchase]) -> [Row] {
        var seen: Set<String> = []
        let kept = rows.reversed().filter { row in
            let purchase = purchases[row.place]
            guard purchase.isAutoRenewable else { return false }
            guard let original = purchase.originalTransactionId ?? purchase.transactionId else { return true }
            return seen.insert(original).inserted
        }
        return kept.reversed()
    }
}

/// What decides a purchase's place: its date, then its id as a number, then its place in the receipt.
private struct Row: Comparable {
    let place: Int
    let milliseconds: Int64
    let identifier: UInt128

    init(place: Int, purchase: InAppPurchase) {
        self.place = place
        milliseconds = purchase.purchaseDate?.milliseconds ?? .min
        let text = purchase.transactionId ?? ""
        identifier = UInt64(text).map { UInt128($0) } ?? UInt128(text) ?? 0
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.milliseconds != right.milliseconds { return left.milliseconds < right.milliseconds }
        if left.identifier != right.identifier { return left.identifier < right.identifier }
        return left.place < right.place
    }
}
