/// Tables that need no horizontal scrolling on a narrow screen, because the style sheet changes their layout there.
/// ARIA roles are explicit, because some screen readers do not recognize tables whose elements are displayed as
/// blocks.
extension HTMLWriter {
    /// Layout of a table on a narrow screen, as a class of `report.css`.
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
    ///   - rows: One row of the table each.
    ///   - style: Layout on a narrow screen.
    ///   - id: Id of the `tbody` element.
    ///   - attributes: Attributes of a row's `tr` element.
    ///   - columns: The columns, from left to right.
    package mutating func table<Rows: Sequence>(
        named caption: String, of rows: Rows, style: TableStyle = .cards, id: String? = nil,
        attributes: (Rows.Element) -> Attributes = { _ in ["role": "row"] }, _ columns: [TableColumn<Rows.Element>]
    ) {
        element("table", ["class": style.rawValue, "role": "table"]) { html in
            html.element("caption", text: caption)
            html.element("thead", ["role": "rowgroup"]) { html in
                html.row { html in
                    for column in columns {
                        html.element(
                            "th", ["class": column.style, "scope": "col", "role": "columnheader"], text: column.header)
                    }
                }
            }
            let body: Attributes = id.map { ["role": "rowgroup", "id": $0] } ?? ["role": "rowgroup"]
            html.element("tbody", body) { html in
                for row in rows {
                    html.element("tr", attributes(row)) { html in
                        for column in columns { html.cell(of: row, in: column) }
                    }
                }
            }
        }
    }

    /// Writes a cell. Its attribute `data-label` is the header of the column, which a card shows before the cell.
    private mutating func cell<Row>(of row: Row, in column: TableColumn<Row>) {
        if column.isRowHeader {
            element("th", ["scope": "row", "role": "rowheader", "data-label": column.header]) { column.write(&$0, row) }
        } else {
            element("td", ["class": column.style, "role": "cell", "data-label": column.header]) {
                column.write(&$0, row)
            }
        }
    }

    /// Writes a table row.
    mutating func row(_ body: (inout HTMLWriter) -> Void) { element("tr", ["role": "row"], body) }

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

/// A column of a table: its header, and the content of its cell in each row.
package struct TableColumn<Row> {
    fileprivate let header: String
    /// The class of the style sheet: `text`, or `number` for right-aligned cells.
    fileprivate var style = "text"
    /// `true` for the column whose cells name their rows.
    fileprivate var isRowHeader = false
    fileprivate let write: (inout HTMLWriter, Row) -> Void

    /// The column whose cells name their rows.
    package static func rowHeader(_ header: String, _ write: @escaping (inout HTMLWriter, Row) -> Void) -> Self {
        Self(header: header, isRowHeader: true, write: write)
    }

    /// A column whose cells contain elements, or untrusted text.
    package static func cell(_ header: String, _ write: @escaping (inout HTMLWriter, Row) -> Void) -> Self {
        Self(header: header, write: write)
    }

    /// A column of trusted texts.
    package static func text(_ header: String, _ text: @escaping (Row) -> String) -> Self {
        Self(header: header) { html, row in html.text(text(row)) }
    }

    /// A column of numbers, which are written as they are displayed.
    package static func number(_ header: String, _ number: @escaping (Row) -> String) -> Self {
        Self(header: header, style: "number") { html, row in html.text(number(row)) }
    }
}
