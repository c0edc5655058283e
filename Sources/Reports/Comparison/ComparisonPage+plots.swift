import Comparison

/// The counts, as tables with bars.
extension ComparisonPage {
    /// The reasons why receipts could not be compared; `nil` if all were.
    var failures: ReportSection? {
        var failures: [String: Int64] = [:]
        for (code, count) in readiness.flatMap({ Array($0.app.failures) }) {
            failures[ComparedValue.text(code).truncated.displayText, default: 0] += count
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
        html.element("section", ["aria-labelledby": "apps"]) { html in
            html.element("h2", ["id": "apps"], text: "Apps")
            guard !readiness.isEmpty else { return html.element("p", text: "No receipt was compared.") }
            let columns = [
                "App", "Compared", "Customers", "Same answer", "Upper bound", "Not compared", "Differences",
            ]
            html.table(
                named:
                    "Compared receipts of each app. With 95 % confidence, the share that would differ is at most the upper bound",
                columns: columns,
                numbers: ["Compared", "Customers", "Same answer", "Upper bound", "Not compared"]
            ) { html in
                let tallies = classTallies
                let largest = tallies.values.map { $0.values.reduce(0, +) }.max() ?? 0
                for readiness in readiness.prefix(Self.maximumApps) {
                    row(readiness, tallies[readiness.app.scope] ?? [:], largest, into: &html)
                }
            }
        }
    }

    private var classTallies: [ComparisonReport.Scope: [ComparisonRule.Class: Int64]] {
        report.entries.reduce(into: [:]) { $0[$1.scope, default: [:]][$1.verdict, default: 0] += $1.count }
    }

    private func row(
        _ readiness: Readiness, _ counts: [ComparisonRule.Class: Int64], _ largest: Int64, into html: inout HTMLWriter
    ) {
        let app = readiness.app
        let entries = ComparisonRule.Class.allCases.reversed()
            .map { ReportEntry($0.rawValue, count: counts[$0] ?? 0, style: $0.style) }
        let words = entries.map { "\($0.count.grouped) \($0.name)" }.joined(separator: ", ")
        html.row { html in
            html.cell(isHeader: true, "App") { $0.scope(app.scope) }
            html.cell("Compared", number: app.compared.grouped)
            html.cell("Customers", number: readiness.customerCount)
            html.cell("Same answer", number: "\(app.equal.grouped) (\(app.equal.share(of: app.compared)))")
            html.cell("Upper bound", number: readiness.boundWords)
            html.cell("Not compared", number: readiness.failed.grouped)
            html.cell("Differences") { html in
                if largest > 0 { Plot.segments(entries, of: largest, titled: words, into: &html) }
                html.element("span", ["class": "words"], text: words)
            }
        }
    }
}

extension ComparisonRule.Class {
    /// CSS class of the bars.
    var style: String { self == .unexpected ? "refused" : "decoded" }
    /// Symbol next to the word, so that the class does not depend on color.
    var symbol: String { self == .unexpected ? "≠" : "≈" }
}
