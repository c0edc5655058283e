/// Tables that need no horizontal scrolling on a narrow screen, because the style sheet changes their layout there.
/// ARIA roles are explicit, because some screen readers do not recognize tables whose elements are displayed as
/// blocks.
extension HTMLWriter {
    /// Layout of a table on a narrow screen, as a class of ``ReportStyle``.
    package enum TableStyle: String {
        /// Each row becomes a card: its header, then each cell with the name of its column.
        case cards
        /// Cards on a narrow screen, columns of fixed width on a wide one.
        case fixed = "cards fixed"
        /// Cards for the ids and reasons of single rows.
        case rows = "cards rows"
        /// Cards on a narrow screen, columns as wide as their content on a wide one.
        case narrowCards = "cards narrow"
        /// Columns of numbers remain, and the meaning of a row moves below it.
        case tally
        /// A tally with columns as wide as their content.
        case narrowTally = "tally narrow"
    }

    /// Writes a table.
    ///
    /// - Parameters:
    ///   - caption: Caption of the table.
    ///   - columns: Column headers.
    ///   - numbers: Headers of the columns that contain numbers.
    ///   - style: Layout on a narrow screen.
    ///   - id: Id of the `tbody` element.
    ///   - body: Writes the rows.
    package mutating func table(
        named caption: String, columns: [String], numbers: Set<String> = [], style: TableStyle = .cards,
        id: String? = nil, _ body: (inout HTMLWriter) -> Void
    ) {
        element("table", ["class": style.rawValue, "role": "table"]) { html in
            html.element("caption", text: caption)
            html.element("thead", ["role": "rowgroup"]) { html in
                html.element("tr", ["role": "row"]) { html in
                    for column in columns {
                        let style = numbers.contains(column) ? "number" : "text"
                        html.element("th", ["class": style, "scope": "col", "role": "columnheader"], text: column)
                    }
                }
            }
            if let id {
                html.element("tbody", ["role": "rowgroup", "id": id], body)
            } else {
                html.element("tbody", ["role": "rowgroup"], body)
            }
        }
    }

    /// Writes a table row.
    package mutating func row(_ body: (inout HTMLWriter) -> Void) { element("tr", ["role": "row"], body) }

    /// Writes a table cell.
    ///
    /// - Parameter column: Header of the column. In a card, it is shown before the cell.
    package mutating func cell(
        isHeader: Bool = false, _ column: String, isNumber: Bool = false, _ body: (inout HTMLWriter) -> Void
    ) {
        if isHeader {
            element("th", ["scope": "row", "role": "rowheader", "data-label": column], body)
        } else {
            element("td", ["class": isNumber ? "number" : "text", "role": "cell", "data-label": column], body)
        }
    }

    /// Writes a cell with trusted text.
    package mutating func cell(_ column: String, text: String) { cell(column) { $0.text(text) } }

    /// Writes a cell with a number.
    package mutating func cell(_ column: String, number: String) { cell(column, isNumber: true) { $0.text(number) } }

    /// Writes a table of names and values without a header row. Values may be untrusted text.
    package mutating func facts(_ caption: String, _ facts: [(String, String)]) {
        element("table", ["class": "facts", "role": "table"]) { html in
            html.element("caption", text: caption)
            html.element("tbody", ["role": "rowgroup"]) { html in
                for (name, value) in facts {
                    html.row { html in
                        html.element("th", ["scope": "row", "role": "rowheader"], text: name)
                        html.element("td", ["role": "cell"]) { $0.untrusted(value, limit: 1_000) }
                    }
                }
            }
        }
    }
}
