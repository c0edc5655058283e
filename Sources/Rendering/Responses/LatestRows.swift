/// Which rows `latest_receipt_info` shows, and in which order.
enum LatestRows {
    /// Apple shows no more than this many.
    static let cap = 100

    /// Places: thinned when asked for, then the newest ``cap``, then ordered.
    static func places(of rows: [LatestRow], options: AnswerOptions) -> [Int] {
        var rows = rows.sorted(by: <)
        if options.excludesOldTransactions { rows = newest(of: rows) }
        let newest = rows.suffix(cap).map(\.place)
        return options.latestReceiptInfoOrder == .ascending ? newest : newest.reversed()
    }

    /// Of each auto-renewable subscription the last row, out of rows in ascending order; no others.
    private static func newest(of rows: [LatestRow]) -> [LatestRow] {
        var seen: Set<String> = []
        return rows.reversed().filter { row in row.subscription.map { seen.insert($0).inserted } ?? false }.reversed()
    }
}

/// What decides a row's place: its date, then its id as a number, then its place in the source.
struct LatestRow: Comparable {
    let place: Int
    let milliseconds: Int64
    let identifier: UInt128
    /// The subscription that an auto-renewable belongs to; nil for all else.
    let subscription: String?

    init(place: Int, milliseconds: Int64?, transactionId: String?, subscription: String?) {
        self.place = place
        self.milliseconds = milliseconds ?? .min
        let text = transactionId ?? ""
        identifier = UInt64(text).map { UInt128($0) } ?? UInt128(text) ?? 0
        self.subscription = subscription
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.milliseconds != right.milliseconds { return left.milliseconds < right.milliseconds }
        if left.identifier != right.identifier { return left.identifier < right.identifier }
        return left.place < right.place
    }
}
