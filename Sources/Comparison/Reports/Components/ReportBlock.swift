/// A part of a page or report. A report is a list of blocks, which ``HTMLWriter`` renders as a page, and ``ReportPage``
/// as Markdown.
package indirect enum ReportBlock: Sendable {
    /// Words without an element of their own, as the content of a list item or cell.
    case words(Words)
    case paragraph(Words, Attributes = [:])
    case heading(Words)
    /// A section with a heading, which links lead to by its id.
    case section(id: String, Words, [ReportBlock], Attributes = [:])
    case group(Attributes, [ReportBlock], as: StaticString = "div")
    case list([Item], Attributes = [:])
    case verdicts([Verdict])
    case terms([(String, Words)])
    /// A table of names and values without a header row. Values may be untrusted text.
    case facts(String, [(String, String)])
    /// The totals of a page, each with a note below it if there is one.
    case tiles([(name: String, value: String, note: String?)])
    case table(ReportTable)
    case drawing(Drawing)
    /// Blocks that are folded away below a summary.
    case details(Words, [ReportBlock], isOpen: Bool = false, Attributes = "fold")
    /// A JSON document that is folded away below its title.
    case document(String, [UInt8])
    /// Blocks that only a page has, on which they can be folded and filtered.
    case onPage([ReportBlock])

    package struct Item: Sendable {
        let attributes: Attributes
        let blocks: [ReportBlock]

        package init(_ blocks: [ReportBlock], _ attributes: Attributes = [:]) {
            (self.blocks, self.attributes) = (blocks, attributes)
        }
    }

    /// A decision about something.
    package struct Verdict: Sendable {
        /// Class of the style sheet.
        let style: String
        let sign: Drawing
        let decision: String
        let subject: String
        let reasons: String
    }

    package static func note(_ words: Words) -> Self { .paragraph(words, "note") }

    package static func list(of items: some Sequence<Words>, _ attributes: Attributes = [:]) -> Self {
        .list(items.map { Item([.words($0)]) }, attributes)
    }
}

/// A table. On a narrow screen it needs no horizontal scrolling, because the style sheet changes its layout there.
package struct ReportTable: Sendable {
    /// Layout of a table on a narrow screen, as a class of the style sheets.
    package enum Style: String, Sendable {
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
        /// The fields of a document beside those of another one.
        case fields
    }

    /// A column: its header, and the content of its cell in each row.
    package struct Column<Row> {
        fileprivate let header: String
        fileprivate var kind = Kind.text
        fileprivate let cell: (Row) -> [ReportBlock]

        /// The column whose cells name their rows.
        package static func rowHeader(_ header: String, _ cell: @escaping (Row) -> Words) -> Self {
            Self(header: header, kind: .rowHeader) { [.words(cell($0))] }
        }

        package static func cell(_ header: String, _ cell: @escaping (Row) -> Words) -> Self {
            Self(header: header) { [.words(cell($0))] }
        }

        package static func blocks(_ header: String, _ cell: @escaping (Row) -> [ReportBlock]) -> Self {
            Self(header: header, cell: cell)
        }

        /// A column of numbers, which are aligned to the right.
        package static func number(_ header: String, _ cell: @escaping (Row) -> String) -> Self {
            Self(header: header, kind: .number) { [.words("\(cell($0))")] }
        }
    }

    enum Kind {
        case text, number, rowHeader
    }

    let caption: String?
    let style: Style
    /// Id of the `tbody` element.
    let id: String?
    let columns: [(header: String, kind: Kind)]
    let rows: [(attributes: Attributes, cells: [[ReportBlock]])]

    package init<Rows: Sequence>(
        _ caption: String?, of rows: Rows, style: Style = .cards, id: String? = nil,
        attributes: (Rows.Element) -> Attributes = { _ in [:] }, _ columns: [Column<Rows.Element>]
    ) {
        (self.caption, self.style, self.id) = (caption, style, id)
        self.columns = columns.map { ($0.header, $0.kind) }
        self.rows = rows.map { row in (attributes(row), columns.map { $0.cell(row) }) }
    }
}
