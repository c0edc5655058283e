import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Selects and orders the rows of `latest_receipt_info`.
enum LatestRows {
    /// Maximum number of rows in Apple's responses.
    static let cap = 100

    /// Returns the indices of the selected rows. The rows are first reduced to one for each series if requested, then
    /// to the newest ``cap``, and then put in the requested order.
    static func indices(of rows: [LatestRow], options: AnswerOptions, environment: AppStoreEnvironment) -> [Int] {
        var rows = rows.sorted(by: <)
        if options.excludesOldTransactions { rows = newest(of: rows) }
        return ordered(rows.suffix(cap).map(\.index), options: options, environment: environment)
    }

    static func ordered(_ ascending: [Int], options: AnswerOptions, environment: AppStoreEnvironment) -> [Int] {
        options.latestReceiptInfoOrder.isNewestFirst(in: environment) ? ascending.reversed() : ascending
    }

    /// Returns the last row of each series. The rows must be in ascending order.
    private static func newest(of rows: [LatestRow]) -> [LatestRow] {
        var seen: Set<String> = []
        return rows.reversed().filter { row in row.series.map { seen.insert($0).inserted } ?? false }.reversed()
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
    /// What `exclude-old-transactions` keeps one row of, see ``series(ofSubscription:product:)``; otherwise `nil`.
    let series: String?

    init(index: Int, milliseconds: Int64?, transactionId: String?, series: String? = nil) {
        var text = transactionId ?? ""
        self.init(index: index, milliseconds: milliseconds, identifier: text.withUTF8(Self.identifier), series: series)
    }

    init(_ transaction: TransactionPayload, at index: Int) {
        self.init(
            index: index, milliseconds: transaction.purchaseDate?.milliseconds,
            transactionId: transaction.transactionId)
    }

    init(index: Int, milliseconds: Int64?, identifier: UInt128, series: String?) {
        self.index = index
        self.milliseconds = milliseconds ?? .min
        self.identifier = identifier
        self.series = series
    }

    /// Returns the series that a row belongs to: all rows of a subscription, or all of a product that does not renew. A
    /// genuine response of 2020 has one row for each, also of a product that was bought twice.
    ///
    /// - Parameter original: the original transaction id if the product is an auto-renewable subscription.
    static func series(ofSubscription original: String?, product: String?) -> String {
        original.map { "subscription \($0)" } ?? "product \(product ?? "")"
    }

    /// Returns the number in a text; 0 if it is not a number.
    static func identifier(of text: UnsafeBufferPointer<UInt8>) -> UInt128 {
        // Up to 18 digits fit into 64 bits.
        guard text.count <= 18 else { return UInt128(String(decoding: text, as: UTF8.self)) ?? 0 }
        var number: UInt64 = 0
        for byte in text {
            guard byte &- 0x30 < 10 else { return UInt128(String(decoding: text, as: UTF8.self)) ?? 0 }
            number = number &* 10 &+ UInt64(byte &- 0x30)
        }
        return UInt128(number)
    }

    /// Rows of equal date and id keep the order of the source, so the order is total.
    static func < (left: Self, right: Self) -> Bool {
        if left.milliseconds != right.milliseconds { return left.milliseconds < right.milliseconds }
        if left.identifier != right.identifier { return left.identifier < right.identifier }
        return left.index < right.index
    }
}
