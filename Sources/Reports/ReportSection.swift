/// A heading, a plot, and the table with its numbers.
package struct ReportSection {
    package let id: String
    package let title: String
    let caption: String
    /// Above the names.
    let column: String
    /// Above the meanings.
    let meaning: String
    let entries: [ReportEntry]
    /// What shares are of.
    let whole: Int64
    let number: String
    /// Columns from left to right, not bars.
    let isInTime: Bool
    /// The colours of the bars mean something.
    let hasSwatches: Bool
    /// A sentence below the table.
    let note: String?
    /// What stands here where nothing was counted.
    let none: String

    /// - Parameters:
    ///   - column: above the names.
    ///   - meaning: above what they mean.
    ///   - number: above the counts.
    ///   - whole: what shares are of.
    ///   - isInTime: columns from left to right, not bars.
    ///   - hasSwatches: the colours of the bars mean something.
    ///   - none: what stands here where nothing was counted.
    package init(
        id: String, title: String, caption: String, column: String, meaning: String = "Meaning",
        entries: [ReportEntry], whole: Int64, number: String = "Rows", isInTime: Bool = false,
        hasSwatches: Bool = false, note: String? = nil, none: String
    ) {
        self.id = id
        self.title = title
        self.caption = caption
        self.column = column
        self.meaning = meaning
        self.entries = entries
        self.whole = whole
        self.number = number
        self.isInTime = isInTime
        self.hasSwatches = hasSwatches
        self.note = note
        self.none = none
    }

    package func write(into html: inout HTMLWriter) {
        html.element("section", ["aria-labelledby": id]) { html in
            html.element("h2", ["id": id], text: title)
            guard entries.largest > 0 else { return html.element("p", text: none) }
            html.element("div", ["class": "pair"]) { html in
                html.element("div", ["class": "plot"]) { html in
                    let title = "\(caption): the table has the numbers"
                    if isInTime {
                        Plot.columns(entries, titled: title, into: &html)
                    } else {
                        Plot.bars(entries, titled: title, into: &html)
                        if entries.count > Plot.maximumBars {
                            let rest = entries.count - Plot.maximumBars
                            html.element("p", ["class": "note"], text: "\(rest) more in the table.")
                        }
                    }
                }
                html.element("div") { html in
                    table(into: &html)
                    if let note { html.element("p", ["class": "note"], text: note) }
                }
            }
        }
    }

    private func table(into html: inout HTMLWriter) {
        let hasMeanings = entries.contains { $0.meaning != nil }
        html.table(
            named: caption, columns: [column] + (hasMeanings ? [meaning] : []) + [number, "Share"],
            numbers: [number, "Share"], style: hasMeanings ? .tally : .narrowTally
        ) { html in
            for entry in entries { row(entry, hasMeaning: hasMeanings, into: &html) }
        }
    }

    private func row(_ entry: ReportEntry, hasMeaning: Bool, into html: inout HTMLWriter) {
        html.element("tr", entry.count == 0 ? ["class": "zero", "role": "row"] : ["role": "row"]) { html in
            html.cell(isHeader: true, column) { html in
                if hasSwatches {
                    html.element(
                        "svg", ["class": "swatch", "width": "12", "height": "12", "aria-hidden": "true"]
                    ) { $0.empty("rect", ["class": entry.style, "width": "12", "height": "12", "rx": "2"]) }
                }
                html.text(entry.name)
            }
            if hasMeaning { html.cell(meaning, text: entry.meaning ?? "") }
            html.cell(number, number: entry.count.grouped)
            html.cell("Share", number: entry.count.share(of: whole))
        }
    }
}
