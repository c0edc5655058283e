package import Comparison

/// The HTML page of a report: one file without external resources, for screen and print. Its script only filters;
/// everything is readable without it.
package struct ComparisonPage {
    /// Limits on what a page shows. The JSON report has everything except the pairs. A report contains at most as
    /// many pairs as `--pairs` requests; this is the highest value that `--pairs` accepts.
    package static let (maximumApps, maximumEntries, maximumPairs) = (100, 2_000, 1_000)
    /// `Content-Security-Policy` header for servers that serve the page.
    package static let policy = ContentPolicy.text(script: script)
    /// The script without the line feed at its end. It filters; it loads nothing and writes text only, never markup.
    private static let script = Array(PackageResources.comparison_js.dropLast())

    let report: ComparisonReport
    let readiness: [Readiness]

    /// Creates the page of a report.
    package init(_ report: ComparisonReport) {
        self.report = report
        readiness = [Readiness](report)
    }

    /// The page as HTML that is also well-formed XML.
    package var bytes: [UInt8] {
        HTMLWriter.page(
            title: "Comparison of \(report.title.shortened)", policy: Self.policy,
            style: PackageResources.comparison_css,
            skip: ("#differences", "To the differences")
        ) { html in
            html.hatches()
            html.element("header", [:], header)
            html.contents(links)
            html.element("main") { html in
                appTable(into: &html)
                differences(into: &html)
                failures?.write(into: &html)
                sideBySide(into: &html)
                basis(into: &html)
            }
            html.element("footer") { html in
                html.element(
                    "p",
                    text: """
                        Written by Receipt Bridge. This page contains no receipts, but transaction ids and \
                        values of their fields: protect it accordingly.
                        """)
            }
            html.script(Self.script)
        }
    }

    private var links: [(target: String, title: String)] {
        [("#apps", "Apps"), ("#differences", "Differences")]
            + (failures.map { [("#\($0.id)", $0.title)] } ?? [])
            + [("#side-by-side", "Side by side"), ("#basis", "Basis of the numbers")]
    }

    /// Writes what the numbers are based on and what they do not include.
    private func basis(into html: inout HTMLWriter) {
        html.section("basis", "Basis of the numbers") { html in
            guard !report.facts.isEmpty || !report.notes.isEmpty else {
                return html.element("p", text: "No comparison was made.")
            }
            html.element("ul", ["class": "basis"]) { html in
                for sentence in report.facts { html.element("li", text: sentence) }
                for note in report.notes { html.element("li") { $0.untrusted(note, limit: 2_000) } }
            }
        }
    }
}

extension HTMLWriter {
    /// Writes a class of differences as a symbol and a word.
    mutating func mark(_ verdict: String, rule: String) {
        let style = ComparisonRule.Class(rawValue: verdict) ?? .unexpected
        badge(
            style.rawValue, sign: style.symbol, rule.isEmpty ? style.rawValue : "\(style.rawValue): \(rule.shortened)")
    }

    /// Writes an app, with its environment below.
    mutating func scope(_ scope: ComparisonReport.Scope) {
        untrusted(scope.app, isPath: true)
        text(" ")
        element("span", ["class": "place"]) { $0.untrusted(scope.environmentText) }
    }

    /// Writes the value of a side, or the word "nothing" if there is none.
    mutating func side(_ value: String?) {
        guard let value else { return element("span", ["class": "absent"], text: "nothing") }
        element("code") { $0.untrusted(value, limit: 200, isPath: true) }
    }
}
