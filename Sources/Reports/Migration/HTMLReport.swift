import Base

/// The HTML page of a report: one file without external resources or scripts, for screen and print.
struct HTMLReport {
    let report: MigrationReport

    /// Returns the page.
    ///
    /// - Parameter refusals: The first refused rows.
    func page(_ refusals: [Refusal]) -> [UInt8] {
        HTMLWriter.page(
            title: "Migration of \(report.sourceName) to \(report.destinationName)",
            skip: ("#outcomes", "To the numbers")
        ) { html in
            html.hatches()
            html.element("header", [:], header)
            html.contents(links)
            html.element("main") { html in
                for section in sections { section.write(into: &html) }
                refusedRows(refusals, into: &html)
                run(into: &html)
            }
            html.element("footer") { html in
                html.element("p") {
                    $0.text(
                        "Written by receipt-bridge migrate. This report contains no receipts, but row ids: protect it accordingly."
                    )
                }
            }
        }
    }

    private func header(_ html: inout HTMLWriter) {
        html.element("p", ["class": "product"], text: "Receipt Bridge · migration report")
        html.element("h1") { html in
            html.untrusted(report.sourceName)
            html.element("span", ["class": "arrow"], text: " to ")
            html.untrusted(report.destinationName)
        }
        html.element("p", ["class": "summary"], text: report.summary)
        let isDone = report.stop == nil && report.counts.count(of: .failed) == 0
        html.element("p", ["class": isDone ? "standing done" : "standing"], text: report.standing)
        html.tiles(tiles)
    }

    /// The totals.
    private var tiles: [(name: String, value: String)] {
        let counts = report.counts
        var tiles = [
            ("rows", counts.rows.grouped), ("authentic", counts.authentic.share(of: counts.rows)),
            ("refused", report.refused.grouped),
        ]
        if let customers = report.customers {
            tiles.append(("customers", customers.all.grouped))
            tiles.append(("API calls", report.history.calls.grouped))
        }
        if let rate = report.rowsPerSecond { tiles.append(("rows per second", rate.grouped)) }
        return tiles
    }

    private var links: [(target: String, title: String)] {
        sections.map { ("#\($0.id)", $0.title) } + [("#refused-rows", "Refused rows"), ("#run", "The run")]
    }
}
