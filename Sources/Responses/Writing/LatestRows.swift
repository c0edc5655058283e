/// Selects and orders the rows of `latest_receipt_info`.
enum LatestRows {
    /// Maximum number of rows in Apple's responses.
    static let cap = 100

    /// Returns the indices of the selected rows. The rows are first reduced to one for each subscription if
    /// requested, then to the newest ``cap``, and then put in the requested order.
    static func indices(of rows: [LatestRow], options: AnswerOptions) -> [Int] {
        var rows = rows.sorted(by: <)
        if options.excludesOldTransactions { rows = newest(of: rows) }
        let newest = rows.suffix(cap).map(\.index)
        return options.latestReceiptInfoOrder == .ascending ? newest : newest.reversed()
    }

    /// Returns the last row of each auto-renewable subscription. The rows must be in ascending order.
    private static func newest(of rows: [LatestRow]) -> [LatestRow] {
        var seen: Set<String> = []
        return rows.reversed().filter { row in row.subscription.map { seen.insert($0).inserted } ?? false }.reversed()
    }
}

/// The sort key of a row: its purchase date, then its transaction id as a number, then its index in the source.
struct LatestRow: Comparable {
    /// The index of the row in the source.
    let index: Int
    /// The purchase date in milliseconds since 1970; the smallest number if it is unknown.
    let milliseconds: Int64
    /// The transaction id as a number; 0 if it is not a number.
    let identifier: UInt128
    /// The id of the subscription if the product is an auto-renewable subscription; otherwise `nil`.
    let subscription: String?

    init(index: Int, milliseconds: Int64?, transactionId: String?, subscription: String?) {
        self.index = index
        self.milliseconds = milliseconds ?? .min
        let text = transactionId ?? ""
        identifier = UInt64(text).map { UInt128($0) } ?? UInt128(text) ?? 0
        self.subscription = subscription
    }

    /// Rows of equal date and id keep the order of the source, so the order is total.
    static func < (left: Self, right: Self) -> Bool {
        if left.milliseconds != right.milliseconds { return left.milliseconds < right.milliseconds }
        if left.identifier != right.identifier { return left.identifier < right.identifier }
        return left.index < right.index
    }
}
