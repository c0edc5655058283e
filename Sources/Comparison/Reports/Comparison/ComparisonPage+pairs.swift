/// The section with both documents of a few receipts. Receipts with unexpected differences come first.
extension ComparisonPage {
    var sideBySide: ReportBlock {
        let unexpected = report.pairs.filter { $0.counts.unexpected > 0 }
        let pairs = (unexpected + report.pairs.filter { $0.counts.unexpected == 0 }).prefix(Self.maximumPairs)
        let rest = report.pairs.count - pairs.count
        let receipts = pairs.count == 1 ? "one receipt" : "\(pairs.count) receipts"
        let hidden = rest > 0 ? " \(rest) more are not shown." : ""
        return .section(
            id: "side-by-side", "Side by side",
            pairs.isEmpty
                ? [.paragraph("There are no documents in this report.")]
                : [.paragraph("Both documents of \(receipts), aligned row by row.\(hidden)")] + pairs.map(\.block),
            ["id": "documents"])
    }
}

private struct ClassCounts {
    let unexpected, expected: Int

    init(_ verdicts: [String]) {
        unexpected = verdicts.count { $0 == ComparisonRule.Class.unexpected.rawValue }
        expected = verdicts.count - unexpected
    }

    var words: Words {
        let badges = [(unexpected, ComparisonRule.Class.unexpected), (expected, .expected)].filter { $0.0 > 0 }
        let all: Words = badges.reduce("") { words, badge in
            let text = "\(badge.0) \(badge.1.rawValue)"
            return "\(words) \(badge: text, sign: badge.1.symbol, badge.1.rawValue)"
        }
        return " \(span: badges.isEmpty ? "no difference" : all, "counts")"
    }
}

extension AlignedPair {
    fileprivate var counts: ClassCounts { ClassCounts(sections.flatMap(\.rows).flatMap(\.verdicts)) }

    /// The documents of a receipt. They are unfolded if there is an unexpected difference.
    fileprivate var block: ReportBlock {
        let scope = ComparisonReport.Scope(bundleId: bundleId, environment: environment)
        let place: Words = "\(outside: scope.app), \(outside: scope.environmentText)"
        return .details(
            "\(code: "\(outside: receipt)") \(span: place, "of")\(counts.words)",
            sections.map(\.block), isOpen: counts.unexpected > 0,
            ["class": "receipt", "data-app": scope.app, "data-environment": scope.environmentText])
    }
}

extension AlignedPair.Section {
    private static let titles = [
        "answer": "Response", "transactions": "in_app", "latestTransactions": "latest_receipt_info and history",
        "renewals": "Renewals", "subscriptions": "Statuses of subscriptions",
    ]

    fileprivate var block: ReportBlock {
        let rest = omitted > 0 ? [ReportBlock.note("\(Int64(omitted).grouped) more rows are not shown.")] : []
        return .group(
            "part",
            [.heading("\(Self.titles[name] ?? name)")] + rows.map { $0.block(isApp: name == "answer") } + rest)
    }
}

extension AlignedPair.Row {
    fileprivate var verdicts: [String] { ([verdict] + fields.map(\.verdict)).compactMap(\.self) }

    /// The row as a table of fields. Rows without differences are folded.
    fileprivate func block(isApp: Bool) -> ReportBlock {
        var blocks: [ReportBlock] = []
        if let rule, let verdict {
            let only: String = side.map { " only \($0) has this row" } ?? ""
            blocks.append(
                .paragraph(
                    "\(Words.mark(verdict, rule))\(only)",
                    ["class": "mark", "data-class": verdict, "data-rule": rule, "data-field": "row"]))
        }
        blocks.append(.table(table))
        if omitted > 0 { blocks.append(.note("\(Int64(omitted).grouped) more fields are not shown.")) }
        return .details(
            "\(title(isApp: isApp))\(ClassCounts(verdicts).words)", blocks, isOpen: !verdicts.isEmpty,
            verdicts.isEmpty ? "row" : "row differs")
    }

    private var table: ReportTable {
        ReportTable(
            nil, of: fields, style: .fields,
            attributes: { field in
                guard let rule = field.rule, let verdict = field.verdict else { return [:] }
                return [
                    "class": "mark \(verdict)", "data-class": verdict, "data-rule": rule,
                    "data-field": ComparisonReport.Entry.field(of: field.name),
                ]
            },
            [
                .rowHeader("Field") { field in
                    guard let rule = field.rule, let verdict = field.verdict else { return "\(outside: field.name)" }
                    return "\(outside: field.name) \(Words.mark(verdict, rule))"
                },
                .cell("verifyReceipt") { .side($0.verifyReceipt) }, .cell("Server API") { .side($0.serverAPI) },
            ])
    }

    private func title(isApp: Bool) -> Words {
        guard !isApp else { return "Status, app, properties" }
        guard !identifier.isEmpty else { return fields.first?.name == "order" ? "The order" : "No id" }
        let product = fields.first { $0.name == RowField.productId.name }
        let id: Words = "\(code: "\(outside: identifier)")"
        guard let product = product?.verifyReceipt ?? product?.serverAPI else { return id }
        return "\(id) \(span: "\(outside: product)", "of")"
    }

    private var side: String? {
        if fields.allSatisfy({ $0.serverAPI == nil }) { return "verifyReceipt" }
        return fields.allSatisfy { $0.verifyReceipt == nil } ? "the Server API" : nil
    }
}

extension Words {
    fileprivate static func mark(_ verdict: String, _ rule: String) -> Words {
        let verdict = ComparisonRule.Class(rawValue: verdict) ?? .unexpected
        return "\(badge: "\(verdict.rawValue): \(rule.shortened)", sign: verdict.symbol, verdict.rawValue)"
    }
}
