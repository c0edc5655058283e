import Reports

/// Tables that become a card for each row where there is little room. What their parts are is said twice, because
/// elements that are laid out as blocks are no table to some readers of screens.
extension HTMLWriter {
    /// - Parameter numbers: the columns of numbers.
    mutating func table(
        named caption: String, columns: [String], numbers: Set<String> = [], id: String? = nil,
        _ body: (inout HTMLWriter) -> Void
    ) {
        element("table", ["class": id == nil ? "cards" : "cards fixed", "role": "table"]) { html in
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

    mutating func row(_ body: (inout HTMLWriter) -> Void) { element("tr", ["role": "row"], body) }

    /// - Parameter column: what stands above it, and before it in a card.
    mutating func cell(
        isHeader: Bool = false, _ column: String, isNumber: Bool = false, _ body: (inout HTMLWriter) -> Void
    ) {
        if isHeader {
            element("th", ["scope": "row", "role": "rowheader", "data-label": column], body)
        } else {
            element("td", ["class": isNumber ? "number" : "text", "role": "cell", "data-label": column], body)
        }
    }

    /// A class of differences in a symbol and a word.
    mutating func mark(_ verdict: String, rule: String) {
        let style = ComparisonRule.Class(rawValue: verdict) ?? .unexpected
        element("span", ["class": "badge \(style.rawValue)"]) { html in
            html.element("span", ["aria-hidden": "true"], text: "\(style.symbol) ")
            html.text(style.rawValue)
            if !rule.isEmpty { html.text(": \(ComparedValue.text(rule).shown.words)") }
        }
    }

    /// A value of a side; nothing is said in words.
    mutating func side(_ value: String?) {
        guard let value else { return element("span", ["class": "absent"], text: "nothing") }
        element("code") { $0.foreign(value, limit: 200) }
    }
}
