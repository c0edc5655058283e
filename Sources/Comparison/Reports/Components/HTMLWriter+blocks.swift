/// The HTML of blocks. Tables have explicit ARIA roles, because some screen readers do not recognize tables whose
/// elements are displayed as blocks.
extension HTMLWriter {
    mutating func write(_ blocks: [ReportBlock]) { for block in blocks { write(block) } }

    private mutating func write(_ block: ReportBlock) {
        switch block {
        case .words(let words): write(words)
        case .paragraph(let words, let attributes): element("p", attributes, words)
        case .heading(let words): element("h3", [:], words)
        case .section(let id, let title, let blocks, let attributes):
            element("section", attributes + ["aria-labelledby": id]) { html in
                html.element("h2", ["id": id], title)
                html.write(blocks)
            }
        case .group(let attributes, let blocks, let name): element(name, attributes) { $0.write(blocks) }
        case .list(let items, let attributes):
            element("ul", attributes) { html in
                for item in items { html.element("li", item.attributes) { $0.write(item.blocks) } }
            }
        case .verdicts(let verdicts): write(Self.list(verdicts))
        case .terms(let terms): element("dl") { html in for (name, words) in terms { html.term(name, words) } }
        case .facts(let caption, let facts): write(facts: facts, caption)
        case .tiles(let tiles): write(tiles: tiles)
        case .table(let table): write(table)
        case .drawing(let drawing): write(drawing)
        case .details(let summary, let blocks, let isOpen, let attributes):
            element("details", attributes, flag: isOpen ? "open" : nil) { html in
                html.element("summary", [:], summary)
                html.write(blocks)
            }
        case .document(let title, let json): write(document: json, title)
        case .onPage(let blocks): write(blocks)
        }
    }

    private mutating func write(_ words: Words) {
        for piece in words.pieces {
            switch piece {
            case .text(let text): self.text(text)
            case .outside(let text, let limit, let isPath): untrusted(text, limit: limit, isPath: isPath)
            case .strong(let words): element("strong", [:], words)
            case .element(let name, let attributes, let words): element(name, attributes, words)
            case .drawing(let drawing): write(drawing)
            }
        }
    }

    mutating func element(_ name: StaticString, _ attributes: Attributes, _ words: Words) {
        element(name, attributes) { $0.write(words) }
    }

    private static func list(_ verdicts: [ReportBlock.Verdict]) -> ReportBlock {
        .list(
            verdicts.map { verdict in
                let reasons: Words =
                    "\(strong: "\(outside: verdict.subject)"). \(outside: verdict.reasons, limit: 2_000)"
                return ReportBlock.Item(
                    [.paragraph("\(verdict.sign)\(verdict.decision)", "word"), .paragraph(reasons, "sentence")],
                    "verdict \(verdict.style)")
            }, "verdicts")
    }

    private mutating func term(_ name: String, _ words: Words) {
        element("dt", text: name)
        element("dd", [:], words)
    }

    private mutating func write(facts: [(String, String)], _ caption: String) {
        element("table", "facts" + ["role": "table"]) { html in
            html.element("caption", text: caption)
            html.element("tbody", ["role": "rowgroup"]) { html in
                for (name, value) in facts {
                    html.element("tr", ["role": "row"]) { html in
                        html.element("th", ["scope": "row", "role": "rowheader"], text: name)
                        html.element("td", ["role": "cell"], "\(outside: value, limit: 1_000)")
                    }
                }
            }
        }
    }

    private mutating func write(tiles: [(name: String, value: String, note: String?)]) {
        element("dl", "tiles") { html in
            for tile in tiles {
                html.element("div") { html in
                    html.term(tile.name, "\(tile.value)")
                    if let note = tile.note { html.element("dd", "note", text: note) }
                }
            }
        }
    }

    private mutating func write(document json: [UInt8], _ title: String) {
        element("details", "document") { html in
            html.element("summary", [:], "\(outside: title)")
            html.element("pre") { html in
                for line in IndentedJSON.lines(of: json) {
                    html.untrusted(line, limit: 4_000)
                    html.lineBreak()
                }
            }
        }
    }

    private mutating func write(_ drawing: Drawing) {
        element("svg", drawing.attributes) { html in
            for shape in drawing.shapes {
                if let text = shape.text {
                    html.element(shape.name, shape.attributes, text: text)
                } else {
                    html.empty(shape.name, shape.attributes)
                }
            }
        }
    }

    // MARK: - Tables

    private mutating func write(_ table: ReportTable) {
        element("table", ["class": table.style.rawValue, "role": "table"]) { html in
            if let caption = table.caption { html.element("caption", text: caption) }
            html.element("thead", ["role": "rowgroup"]) { html in
                html.element("tr", ["role": "row"]) { html in
                    for column in table.columns {
                        html.element(
                            "th", Self.style(of: column.kind, in: table) + ["scope": "col", "role": "columnheader"],
                            text: column.header)
                    }
                }
            }
            let id: Attributes = table.id.map { ["id": $0] } ?? [:]
            let cells = table.columns.map { Self.cell($0, in: table) }
            html.element("tbody", ["role": "rowgroup"] + id) { html in
                for row in table.rows {
                    html.element("tr", ["role": "row"] + row.attributes) { html in
                        for (cell, blocks) in zip(cells, row.cells) {
                            html.element(cell.name, cell.attributes) { $0.write(blocks) }
                        }
                    }
                }
            }
        }
    }

    private static func style(of kind: ReportTable.Kind, in table: ReportTable) -> Attributes {
        kind == .number ? "number" : table.style == .fields ? [:] : "text"
    }

    /// The element of a column's cells. The attribute `data-label` is the header, which a card shows before the cell.
    private static func cell(
        _ column: (header: String, kind: ReportTable.Kind), in table: ReportTable
    ) -> (name: StaticString, attributes: Attributes) {
        let label: Attributes = table.style == .fields ? [:] : ["data-label": column.header]
        return column.kind == .rowHeader
            ? ("th", ["scope": "row", "role": "rowheader"] + label)
            : ("td", style(of: column.kind, in: table) + ["role": "cell"] + label)
    }
}
