/// One row of a table, which is also one bar or column of the plot.
struct ReportEntry: Sendable, Hashable {
    let name: String
    /// Explanation of the name; `nil` if it needs none.
    let meaning: String?
    let count: Int64
    /// CSS classes of the bar, which determine its color, see `report.css`.
    var style = "plain"

    init(_ name: String, _ meaning: String? = nil, count: Int64, style: String = "plain") {
        (self.name, self.meaning, self.count, self.style) = (name, meaning, count, style)
    }
}

extension [ReportEntry] {
    /// Creates entries in descending order of count.
    package init(_ counts: [String: Int64], style: String = "plain", meaning: (String) -> String? = { _ in nil }) {
        self = counts.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { ReportEntry($0.key, meaning($0.key), count: $0.value, style: style) }
    }

    /// Creates entries for consecutive years, including those without receipts. If there are too many, years without
    /// receipts are omitted, then the earliest years are combined into one entry.
    package init(years counts: [String: Int64], atMost limit: Int = 20) {
        let years = counts.compactMap { name, count in Int(name).map { (year: $0, count: count) } }
            .filter { $0.count > 0 }.sorted { $0.year < $1.year }
        guard let first = years.first?.year, let last = years.last?.year else {
            self = []
            return
        }
        if last - first < limit {
            let counts = Dictionary(years.map { ($0.year, $0.count) }, uniquingKeysWith: +)
            self = (first...last).map { ReportEntry("\($0)", count: counts[$0] ?? 0) }
        } else if years.count <= limit {
            self = years.map { ReportEntry("\($0.year)", count: $0.count) }
        } else {
            let early = years.dropLast(limit - 1)
            let until = early.last.map { "until \($0.year)" } ?? ""
            self =
                [ReportEntry(until, count: early.reduce(0) { $0 + $1.count })]
                + years.suffix(limit - 1).map { ReportEntry("\($0.year)", count: $0.count) }
        }
    }

    package var largest: Int64 { self.map(\.count).max() ?? 0 }
}
