import Comparison

/// The section with both documents of a few receipts. Receipts with unexpected differences come first.
extension ComparisonPage {
    func sideBySide(into html: inout HTMLWriter) {
        html.element("section", ["id": "documents", "aria-labelledby": "side-by-side"]) { html in
            html.element("h2", ["id": "side-by-side"], text: "Side by side")
            let unexpected = report.pairs.filter(\.isUnexpected)
            let pairs = (unexpected + report.pairs.filter { !$0.isUnexpected }).prefix(Self.maximumPairs)
            guard !pairs.isEmpty else { return html.element("p", text: "There are no documents in this report.") }
            let rest = report.pairs.count - pairs.count
            html.element(
                "p",
                text:
                    "Both documents of \(pairs.count == 1 ? "one receipt" : "\(pairs.count) receipts"), aligned row by row."
                    + (rest > 0 ? " \(rest) more are not shown." : ""))
            html.element("p", ["class": "toggle", "id": "toggle", "hidden": "hidden"]) { html in
                html.element("label") { html in
                    html.empty("input", ["type": "checkbox", "id": "only-differing"])
                    html.text(" Show only fields that differ")
                }
            }
            for pair in pairs { pair.write(into: &html) }
        }
    }
}

extension AlignedPair {
    /// Classes of all differences in the pair.
    private var verdicts: [String] { sections.flatMap(\.rows).flatMap(\.verdicts) }

    fileprivate var isUnexpected: Bool { verdicts.contains(ComparisonRule.Class.unexpected.rawValue) }

    /// Writes the documents of a receipt. They are unfolded if there is an unexpected difference.
    fileprivate func write(into html: inout HTMLWriter) {
        let verdicts = verdicts
        let unexpected = verdicts.filter { $0 == ComparisonRule.Class.unexpected.rawValue }.count
        let attributes: HTMLWriter.Attributes = [
            "class": "receipt", "data-app": scope.app, "data-environment": scope.environmentText,
        ]
        html.element("details", attributes, flag: unexpected > 0 ? "open" : nil) { html in
            html.element("summary") { html in
                html.element("code") { $0.untrusted(receipt) }
                html.text(" ")
                html.element("span", ["class": "of"]) { html in
                    html.untrusted(scope.app)
                    html.text(", ")
                    html.untrusted(scope.environmentText)
                }
                html.counts(unexpected: unexpected, expected: verdicts.count - unexpected)
            }
            for section in sections { section.write(into: &html) }
        }
    }
}

extension AlignedPair.Section {
    /// Headings of the sections by name.
    private static let titles = [
        "answer": "Response", "transactions": "in_app", "latestTransactions": "latest_receipt_info and history",
        "renewals": "Renewals", "subscriptions": "Statuses of subscriptions",
    ]

    fileprivate func write(into html: inout HTMLWriter) {
        html.element("div", ["class": "part"]) { html in
            html.element("h3", text: Self.titles[name] ?? name)
            for row in rows { row.write(into: &html, isApp: name == "answer") }
            guard omitted > 0 else { return }
            html.note("\(Int64(omitted).grouped) more rows are not shown.")
        }
    }
}

extension AlignedPair.Row {
    /// Classes of all differences in the row.
    fileprivate var verdicts: [String] { ([verdict] + fields.map(\.verdict)).compactMap(\.self) }

    /// Writes a row as a table of fields. Rows without differences are folded.
    fileprivate func write(into html: inout HTMLWriter, isApp: Bool) {
        let unexpected = verdicts.filter { $0 == ComparisonRule.Class.unexpected.rawValue }.count
        let attributes: HTMLWriter.Attributes = ["class": verdicts.isEmpty ? "row" : "row differs"]
        html.element("details", attributes, flag: verdicts.isEmpty ? nil : "open") { html in
            html.element("summary") { html in
                title(isApp: isApp, into: &html)
                html.counts(unexpected: unexpected, expected: verdicts.count - unexpected)
            }
            if let rule, let verdict {
                html.element("p", ["class": "mark", "data-class": verdict, "data-rule": rule, "data-field": "row"]) {
                    html in
                    html.mark(verdict, rule: rule)
                    if let side { html.text(" only \(side) has this row") }
                }
            }
            html.element("table", ["class": "fields", "role": "table"]) { html in
                html.element("thead", ["role": "rowgroup"]) { html in
                    html.row { html in
                        for column in ["Field", "verifyReceipt", "Server API"] {
                            html.element("th", ["scope": "col", "role": "columnheader"], text: column)
                        }
                    }
                }
                html.element("tbody", ["role": "rowgroup"]) { html in
                    for field in fields { field.write(into: &html) }
                }
            }
            if omitted > 0 {
                html.note("\(Int64(omitted).grouped) more fields are not shown.")
            }
        }
    }

    private func title(isApp: Bool, into html: inout HTMLWriter) {
        guard !isApp else { return html.text("Status, app, properties") }
        guard !identifier.isEmpty else { return html.text(fields.first?.name == "order" ? "The order" : "No id") }
        html.element("code") { $0.untrusted(identifier) }
        let product = fields.first { $0.name == RowField.productId.name }
        guard let product = product?.verifyReceipt ?? product?.serverAPI else { return }
        html.text(" ")
        html.element("span", ["class": "of"]) { $0.untrusted(product) }
    }

    /// The only side that has values; `nil` if both sides do.
    private var side: String? {
        if fields.allSatisfy({ $0.serverAPI == nil }) { return "verifyReceipt" }
        return fields.allSatisfy { $0.verifyReceipt == nil } ? "the Server API" : nil
    }
}

extension AlignedPair.Field {
    fileprivate func write(into html: inout HTMLWriter) {
        if let rule, let verdict {
            let attributes: HTMLWriter.Attributes = [
                "role": "row", "class": "mark \(verdict)", "data-class": verdict, "data-rule": rule,
                "data-field": ComparisonReport.Entry.field(of: name),
            ]
            html.element("tr", attributes) { html in
                cells(into: &html) { html in
                    html.text(" ")
                    html.mark(verdict, rule: rule)
                }
            }
        } else {
            html.row { cells(into: &$0) { _ in } }
        }
    }

    private func cells(into html: inout HTMLWriter, _ mark: (inout HTMLWriter) -> Void) {
        html.element("th", ["scope": "row", "role": "rowheader"]) { html in
            html.untrusted(name)
            mark(&html)
        }
        html.element("td", ["role": "cell"]) { $0.side(verifyReceipt) }
        html.element("td", ["role": "cell"]) { $0.side(serverAPI) }
    }
}

extension HTMLWriter {
    /// Writes how many differences of each class there are.
    fileprivate mutating func counts(unexpected: Int, expected: Int) {
        text(" ")
        element("span", ["class": "counts"]) { html in
            let parts = [(unexpected, ComparisonRule.Class.unexpected), (expected, .expected)].filter { $0.0 > 0 }
            guard !parts.isEmpty else { return html.text("no difference") }
            for (count, verdict) in parts {
                html.text(" ")
                html.badge(verdict.rawValue, sign: verdict.symbol, "\(count) \(verdict.rawValue)")
            }
        }
    }
}
