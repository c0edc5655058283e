/// Tables that need no sideways scrolling on a narrow screen: the style sheet lays them out in another way there. Roles
/// are spelled out, because elements that are laid out as blocks are no table to some screen readers.
extension HTMLWriter {
    /// What becomes of a table on a narrow screen, as a class of ``ReportStyle``.
    package enum TableStyle: String {
        /// Each row becomes a card: its header, then each cell after the name of its column.
        case cards
        /// The same with columns of fixed width where there is room.
        case fixed = "cards fixed"
        /// The same for the ids and reasons of single rows.
        case rows = "cards rows"
        /// The same with columns that are as wide as what they hold.
        case narrowCards = "cards narrow"
        /// The columns of numbers stay, the meaning of a row goes below it.
        case tally
        /// The same with columns that are as wide as what they hold.
        case narrowTally = "tally narrow"
    }

    /// - Parameters:
    ///   - numbers: the columns of numbers.
    ///   - id: of the body.
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

    package mutating func row(_ body: (inout HTMLWriter) -> Void) { element("tr", ["role": "row"], body) }

    /// - Parameter column: what stands above it, and before it in a card.
    package mutating func cell(
        isHeader: Bool = false, _ column: String, isNumber: Bool = false, _ body: (inout HTMLWriter) -> Void
    ) {
        if isHeader {
            element("th", ["scope": "row", "role": "rowheader", "data-label": column], body)
        } else {
            element("td", ["class": isNumber ? "number" : "text", "role": "cell", "data-label": column], body)
        }
    }

    /// A cell of our own words.
    package mutating func cell(_ column: String, text: String) { cell(column) { $0.text(text) } }

    package mutating func cell(_ column: String, number: String) { cell(column, isNumber: true) { $0.text(number) } }

    /// Names and their values, without a head. A value may be text of others.
    package mutating func facts(_ caption: String, _ facts: [(String, String)]) {
        element("table", ["class": "facts", "role": "table"]) { html in
            html.element("caption", text: caption)
            html.element("tbody", ["role": "rowgroup"]) { html in
                for (name, value) in facts {
                    html.row { html in
                        html.element("th", ["scope": "row", "role": "rowheader"], text: name)
                        html.element("td", ["role": "cell"]) { $0.foreign(value, limit: 1_000) }
                    }
                }
            }
        }
    }
}
