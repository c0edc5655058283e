import Reports

/// The page of a report: one file that asks nobody for anything, for screen and paper. Its script only filters; without
/// it everything can be read.
package struct ComparisonPage {
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
            html.element("body") { html in
                html.element("h1") { $0.foreign(report.title) }
                for readiness in readiness { html.element("p") { $0.foreign(readiness.sentence, limit: 2_000) } }
            }
        }
        return html.bytes
    }
}
