/// A section of a report: a heading, a plot, and a table with its numbers.
struct ReportSection {
    /// Id of the heading, for links.
    let id: String
    let title: String
    /// Caption of the table and description of the plot.
    let caption: String
    /// Header of the column with names.
    let column: String
    /// Header of the column with explanations.
    var meaning = "Meaning"
    let entries: [ReportEntry]
    /// Count that shares refer to.
    let whole: Int64
    /// Header of the column with counts.
    var number = "Rows"
    /// `true` for a plot over time: columns from left to right instead of bars.
    var isInTime = false
    /// `true` if the table shows the color of each bar.
    var hasSwatches = false
    /// Note below the table; `nil` if there is none.
    var note: String?
    /// Text that replaces the plot and the table if all counts are 0.
    let none: String

    /// Writes the section.
    func write(into html: inout HTMLWriter) {
        html.section(id, title) { html in
            guard entries.largest > 0 else { return html.element("p", text: none) }
            html.element("div", ["class": "pair"]) { html in
                html.element("div", ["class": "plot"]) { html in
                    let title = "\(caption): see the table for the numbers"
                    if isInTime {
                        Plot.columns(entries, titled: title, into: &html)
                    } else {
                        Plot.bars(entries, titled: title, into: &html)
                        if entries.count > Plot.maximumBars {
                            let rest = entries.count - Plot.maximumBars
                            html.note("\(rest) more in the table.")
                        }
                    }
                }
                html.element("div") { html in
                    table(into: &html)
                    if let note { html.note(note) }
                }
            }
        }
    }

    private func table(into html: inout HTMLWriter) {
        var columns: [TableColumn<ReportEntry>] = [
            .rowHeader(column) { html, entry in
                if hasSwatches {
                    html.element(
                        "svg", ["class": "swatch", "width": "12", "height": "12", "aria-hidden": "true"]
                    ) { $0.empty("rect", ["class": entry.style, "width": "12", "height": "12", "rx": "2"]) }
                }
                html.text(entry.name)
            }
        ]
        let hasMeanings = entries.contains { $0.meaning != nil }
        if hasMeanings { columns.append(.text(meaning) { $0.meaning ?? "" }) }
        columns += [.number(number) { $0.count.grouped }, .number("Share") { $0.count.share(of: whole) }]
        html.table(
            named: caption, of: entries, style: hasMeanings ? .tally : .narrowTally,
            attributes: { $0.count == 0 ? ["class": "zero", "role": "row"] : ["role": "row"] }, columns)
    }
}
