import Reports

/// The page of a report: one file that asks nobody for anything, for screen and paper. Its script only filters; without
/// it everything can be read.
package struct ComparisonPage {
    /// What a page shows at most of each; the report as JSON has all but the pairs. A report holds as many pairs as it
    /// was asked for, `--pairs`; here is the most that may be asked for.
    package static let (maximumApps, maximumEntries, maximumPairs) = (100, 2_000, 1_000)
    /// `Content-Security-Policy`, for whoever serves it.
    package static let policy = ContentPolicy.text(script: ComparisonScript.text)

    let report: ComparisonReport
    let readiness: [Readiness]

    package init(_ report: ComparisonReport) {
        self.report = report
        readiness = [Readiness](report)
    }

    /// HTML that is well-formed XML too.
    package var bytes: [UInt8] {
        var html = HTMLWriter()
        html.element("html", ["lang": "en"]) { html in
            html.head(
                title: "Comparison of \(ComparedValue.text(report.title).truncated.words)", policy: Self.policy,
                style: ComparisonStyle.sheet)
            html.element("body") { html in
                html.element("a", ["class": "skip", "href": "#differences"], text: "To the differences")
                html.hatches()
                html.element("header", [:], header)
                html.element("nav", ["aria-label": "Contents"], contents)
                html.element("main") { html in
                    appTable(into: &html)
                    for section in plots { section.write(into: &html) }
                    differences(into: &html)
                    sideBySide(into: &html)
                    basis(into: &html)
                }
                html.element("footer") { html in
                    html.element(
                        "p",
                        text: """
                            Written by Receipt Bridge. There is no receipt in this page, but there are ids of \
                            transactions and values of their fields: treat it as you treat those.
                            """)
                }
                html.script(ComparisonScript.text)
            }
        }
        return html.bytes
    }

    private func contents(_ html: inout HTMLWriter) {
        var links = [("apps", "Apps")]
        links += plots.map { ($0.id, $0.title) }
        links += [("differences", "Differences"), ("side-by-side", "Side by side"), ("basis", "What it rests on")]
        html.element("ul") { html in
            for (id, title) in links {
                html.element("li") { $0.element("a", ["href": "#\(id)"], text: title) }
            }
        }
    }
}
