/// The Markdown of a page, for places that cannot show HTML.
extension ReportPage {
    package var markdown: String {
        let parts = ["# \(Words("\(title)").markdown)", product.markdown] + (header + main).flatMap(\.markdown)
        return parts.joined(separator: "\n\n") + "\n"
    }
}

extension ReportBlock {
    /// The paragraphs of the block; none of what only a page has.
    fileprivate var markdown: [String] {
        switch self {
        case .words(let words), .paragraph(let words, _): [words.markdown]
        case .heading(let words): ["### \(words.markdown)"]
        case .section(_, let title, let blocks, _): ["## \(title.markdown)"] + blocks.flatMap(\.markdown)
        case .group(_, let blocks, _): blocks.flatMap(\.markdown)
        case .list(let items, _): [Self.items(items.map { $0.blocks.line() })]
        case .verdicts(let verdicts): [Self.items(verdicts.map(\.markdown))]
        case .terms(let terms): [Self.items(terms.map { "\($0.0): \($0.1.markdown)" })]
        case .facts(let caption, let facts):
            ["\(caption):", Self.items(facts.map { "\($0.0): \(Words("\(outside: $0.1, limit: 1_000)").markdown)" })]
        case .tiles(let tiles): [Self.items(tiles.map { "\($0.value.escaped) \($0.name)" })]
        case .table(let table): [table.caption.map { "\($0):" }, table.markdown].compactMap(\.self)
        case .details(let summary, let blocks, _, _): ["\(summary.markdown):"] + blocks.flatMap(\.markdown)
        case .document(let title, let json):
            ["\(title.escaped):", "```json\n\(IndentedJSON.lines(of: json).joined(separator: "\n"))\n```"]
        case .drawing, .onPage: []
        }
    }

    private static func items(_ lines: [String]) -> String { lines.map { "- \($0)" }.joined(separator: "\n") }

    /// The block on one line, for a list item or a cell: a list has its first items, and a fold its first block.
    fileprivate func line(_ shown: Int) -> String {
        switch self {
        case .list(let items, _):
            (items.prefix(shown).map { $0.blocks.line() }
                + (items.count > shown ? ["\(items.count - shown) more"] : [])).joined(separator: "; ")
        case .terms(let terms): terms.map { "\($0.0) \($0.1.markdown)" }.joined(separator: ", ")
        case .details(_, let blocks, _, _): "(\(blocks.line(1)))"
        default: markdown.joined(separator: " ")
        }
    }
}

extension [ReportBlock] {
    fileprivate func line(_ shown: Int = 4) -> String { map { $0.line(shown) }.joined(separator: " ") }
}

extension ReportBlock.Verdict {
    fileprivate var markdown: String {
        "**\(decision): \(subject.escaped).** \(Words("\(outside: reasons, limit: 2_000)").markdown)"
    }
}

extension ReportTable {
    fileprivate var markdown: String {
        func row(_ cells: [String]) -> String { "| \(cells.joined(separator: " | ")) |" }
        let rule = columns.map { $0.kind == .number ? "---:" : "---" }
        let cells = rows.map { $0.cells.map { $0.line() } }
        return ([columns.map(\.header), rule] + cells).map(row).joined(separator: "\n")
    }
}

extension Words {
    /// The words on one line. Texts from outside contain no markup.
    fileprivate var markdown: String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text.escaped
            case .outside(let text, let limit, _): PrintableText.text(of: text, limit: limit).escaped
            case .strong(let words): "**\(words.markdown)**"
            case .element(_, _, let words): words.markdown
            case .drawing: ""
            }
        }.joined()
    }
}

extension String {
    /// The text without markup of Markdown, on one line.
    fileprivate var escaped: String {
        PrintableText.text(of: self).unicodeScalars.map { Self.escapes[$0] ?? String($0) }.joined()
            .replacing("://", with: "&#58;//")
    }

    /// Characters that can start markup, a table cell, a mention or a formula.
    private static let escapes: [Unicode.Scalar: String] = {
        var escapes: [Unicode.Scalar: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "$": "&#36;"]
        for scalar in "\\`*_[]#|~!{}".unicodeScalars { escapes[scalar] = "\\\(scalar)" }
        return escapes
    }()
}
