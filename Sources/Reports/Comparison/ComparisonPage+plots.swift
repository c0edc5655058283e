import Comparison

/// The counts, as tables with bars.
extension ComparisonPage {
    /// The reasons why receipts could not be compared; `nil` if all were.
    var failures: ReportSection? {
        var failures: [String: Int64] = [:]
        for (code, count) in readiness.flatMap({ Array($0.app.failures) }) {
            failures[code.shortened, default: 0] += count
        }
        guard !failures.isEmpty else { return nil }
        return ReportSection(
            id: "failures", title: "Not compared",
            caption: "Reasons why receipts could not be compared, with their share",
            column: "Reason", entries: [ReportEntry](failures, style: "notFound"),
            whole: readiness.reduce(0) { $0 + $1.app.compared + $1.failed }, number: "Receipts",
            none: "Every receipt was compared.")
    }

    /// Writes the table with one row for each app.
    func appTable(into html: inout HTMLWriter) {
        let tallies = classTallies
        let largest = tallies.values.map { $0.values.reduce(0, +) }.max() ?? 0
        html.section("apps", "Apps") { html in
            guard !readiness.isEmpty else { return html.element("p", text: "No receipt was compared.") }
            html.table(
                named:
                    "Compared receipts of each app. With 95 % confidence, the share that would differ is at most the upper bound",
                of: readiness.prefix(Self.maximumApps),
                [
                    .rowHeader("App") { $0.scope($1.app.scope) },
                    .number("Compared") { $0.app.compared.grouped },
                    .number("Customers") { $0.customerCount },
                    .number("Same answer") { "\($0.app.equal.grouped) (\($0.app.equal.share(of: $0.app.compared)))" },
                    .number("Upper bound") { $0.boundWords },
                    .number("Not compared") { $0.failed.grouped },
                    .cell("Differences") { differences(tallies[$1.app.scope] ?? [:], of: largest, into: &$0) },
                ])
        }
    }

    private var classTallies: [ComparisonReport.Scope: [ComparisonRule.Class: Int64]] {
        report.entries.reduce(into: [:]) { $0[$1.scope, default: [:]][$1.verdict, default: 0] += $1.count }
    }

    /// Writes the differences of an app by class, as a plot and in words.
    private func differences(
        _ counts: [ComparisonRule.Class: Int64], of largest: Int64, into html: inout HTMLWriter
    ) {
        let entries = [ComparisonRule.Class.unexpected, .expected]
            .map { ReportEntry($0.rawValue, count: counts[$0] ?? 0, style: $0.style) }
        let words = entries.map { "\($0.count.grouped) \($0.name)" }.joined(separator: ", ")
        if largest > 0 { Plot.segments(entries, of: largest, titled: words, into: &html) }
        html.element("span", ["class": "words"], text: words)
    }
}

extension ComparisonRule.Class {
    /// CSS class of the bars.
    var style: String { self == .unexpected ? "refused" : "decoded" }
    /// Symbol next to the word, so that the class does not depend on color.
    var symbol: String {
        switch self {
        case .unexpected: "×"
        case .expected: "≈"
        case .records: "·"
        }
    }
}
