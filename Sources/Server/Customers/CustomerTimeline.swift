import ReceiptBridgeComparison
import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// The purchases of a customer over time: one row for each subscription and each product that is bought once. The table
/// of purchases has the same data, so a screen reader treats a row as one image.
///
/// The drawings contain no text and stretch with the page, so that they can be read on a phone.
struct CustomerTimeline {
    private struct Row {
        let title: String
        let purchases: [TransactionPayload]
    }

    private let rows: [Row]
    /// The first and the last moment, in milliseconds.
    private let (start, end): (Int64, Int64)
    private let now: Timestamp

    private static let maximumRows = 12
    private static let (width, height) = (1_000.0, 24)
    /// Four weeks of seven days.
    private static let month = Duration.days(28).inMilliseconds

    init(_ transactions: [TransactionPayload], now: Timestamp) {
        let dated = transactions.filter { $0.purchaseDate != nil }
        let groups = Dictionary(grouping: dated) { $0.isAutoRenewable ? $0.chain : "\($0.productId ?? "") " }
        rows = groups.values.map { purchases in
            Row(title: purchases.last?.productId ?? "–", purchases: purchases)
        }.sorted { ($0.purchases.last?.lastMoment ?? 0, $0.title) > ($1.purchases.last?.lastMoment ?? 0, $1.title) }
        let first = dated.compactMap(\.purchaseDate?.milliseconds).min() ?? now.milliseconds
        let last = max(dated.map(\.lastMoment).max() ?? now.milliseconds, now.milliseconds)
        // A short history is not stretched over the whole width.
        start = min(first, last - Self.month)
        // Products that end in the far future leave room for the past.
        end = min(last, now.milliseconds + Duration.days(400).inMilliseconds)
        self.now = now
    }

    var blocks: [ReportBlock] {
        guard !rows.isEmpty else { return [] }
        let hidden = rows.count - Self.maximumRows
        return [
            .heading("Timeline"),
            .group("timeline", [legend] + rows.prefix(Self.maximumRows).map(line) + [axis]),
        ] + (hidden > 0 ? [.note("\(hidden) more products are in the table.")] : [])
    }

    private func line(_ row: Row) -> ReportBlock {
        let track = Drawing.Shape.rectangle("track", x: 0, y: 10, width: Int(Self.width), height: 4)
        let today = Drawing.Shape.rectangle(
            "today", x: text(position(now.milliseconds) - 1), y: 0, width: 2, height: 24)
        let drawing = Drawing(
            [
                "viewBox": "0 0 \(Int(Self.width)) \(Self.height)", "preserveAspectRatio": "none", "role": "img",
                "aria-label": label(of: row),
            ], [track] + row.purchases.suffix(400).flatMap(shapes(of:)) + [today])
        return .group("line", [.paragraph("\(path: row.title)", "title"), .drawing(drawing)])
    }

    /// Draws a period as a bar, and a purchase that has no end as a mark.
    private func shapes(of purchase: TransactionPayload) -> [Drawing.Shape] {
        guard let date = purchase.purchaseDate?.milliseconds else { return [] }
        let left = position(date)
        let right = purchase.expiresDate.map { position($0.milliseconds) } ?? left
        let width = max(right - left - 1, purchase.expiresDate == nil ? 6 : 2)
        let bar = Drawing.Shape.rectangle(
            purchase.timelineStyle, x: text(min(left, Self.width - width)), y: 4, width: text(width), height: 16)
        guard let refund = purchase.revocationDate?.milliseconds else { return [bar] }
        return [bar, .rectangle("refund", x: text(min(position(refund), Self.width - 4)), y: 0, width: 4, height: 24)]
    }

    private var axis: ReportBlock {
        let dates = [start, start + (end - start) / 2, end].map { Timestamp(milliseconds: $0).dateText }
        return .paragraph("\(span: "\(dates[0])")\(span: "\(dates[1])")\(span: "\(dates[2])")", "axis")
    }

    private var legend: ReportBlock {
        let all = rows.flatMap(\.purchases)
        let styles = Set(all.map(\.timelineStyle))
        var entries = TransactionPayload.timelineStyles.filter { styles.contains($0.style) }
        if all.contains(where: { $0.revocationDate != nil }) { entries.append(("refund", "end by a refund")) }
        entries.append(("today", "now"))
        return .list(
            of: entries.map { style, name in
                let isLine = style == "today" || style == "refund"
                let color = Drawing(
                    ["viewBox": "0 0 16 12", "width": "16", "height": "12", "aria-hidden": "true"],
                    [.rectangle(style, x: isLine ? 6 : 0, y: 0, width: isLine ? 4 : 16, height: 12)])
                return "\(color)\(name)"
            }, "legend")
    }

    private func label(of row: Row) -> String {
        let first = row.purchases.first?.purchaseDate?.dateText ?? "–"
        let last = Timestamp(milliseconds: row.purchases.last?.lastMoment ?? 0).dateText
        let count = row.purchases.count == 1 ? "1 purchase" : "\(row.purchases.count) purchases"
        return "\(PrintableText.text(of: row.title)): \(count), \(first) to \(last)"
    }

    private func position(_ milliseconds: Int64) -> Double {
        let share = Double(milliseconds - start) / Double(max(end - start, 1))
        return min(max(share, 0), 1) * Self.width
    }

    private func text(_ value: Double) -> String { "\((max(value, 0) * 10).rounded() / 10)" }
}

extension TransactionPayload {
    fileprivate var lastMoment: Int64 { (expiresDate ?? purchaseDate)?.milliseconds ?? 0 }

    /// The classes of bars, and what they mean.
    fileprivate static let timelineStyles: [(style: String, name: String)] = [
        ("plain", "paid"), ("decoded", "with an offer"), ("shared", "shared by the family"),
        ("noTransactions", "replaced by an upgrade"), ("refused", "refunded"),
    ]

    fileprivate var timelineStyle: String {
        if revocationDate != nil { return "refused" }
        if isUpgraded == true { return "noTransactions" }
        if isShared { return "shared" }
        return offerType == nil ? "plain" : "decoded"
    }
}
