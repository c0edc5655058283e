/// The section with all differences, which the script filters.
extension ComparisonPage {
    var differences: ReportBlock {
        let shown = report.entries.prefix(Self.maximumEntries)
        guard !shown.isEmpty else {
            return .section(id: "differences", "Differences", [.paragraph("Nothing differs.")])
        }
        let groups = ComparisonReport.RuleGroup.list(shown)
        let (ofRecords, served) = (groups.filter { $0.verdict == .records }, groups.filter { $0.verdict != .records })
        var blocks: [ReportBlock] = [
            .note(
                """
                \(ComparisonRule.Class.unexpected.badge) needs attention; \(ComparisonRule.Class.expected.badge) is a \
                known difference between the two endpoints; “may be noticed” if responses differ by it. A receipt may \
                differ in several fields, so the share of receipts is an upper bound.
                """),
            .table(table(of: served, named: "Differences by rule", id: "entries")),
        ]
        if !ofRecords.isEmpty {
            blocks += [
                .heading("Only in the records"),
                .note(
                    "These are in the records, but not in the responses. No client gets them, and they decide nothing."),
                .table(table(of: ofRecords, named: "Differences of the records by rule", id: "records")),
            ]
        }
        if report.entries.count > shown.count { blocks.append(more(report.entries.count - shown.count)) }
        return .section(id: "differences", "Differences", blocks)
    }

    /// A row for each rule. Each place is an entry, with the `data-` attributes that the filters compare with.
    private func table(of groups: [ComparisonReport.RuleGroup], named title: String, id: String) -> ReportTable {
        let compared = Dictionary(report.apps.map { ($0.scope, $0.compared) }, uniquingKeysWith: { first, _ in first })
        return ReportTable(
            title, of: groups, style: .fixed, id: id,
            attributes: { group in
                let verdict = group.verdict.rawValue
                return ["class": verdict, "data-class": verdict, "data-rule": group.rule.shortened]
            },
            [
                .rowHeader("Rule") { rule(of: $0) },
                .number("Count") { $0.count.grouped },
                .blocks("Apps, paths and examples") { group in
                    [.list(group.entries.map { place($0, of: compared[$0.scope] ?? 0) }, "places")]
                },
            ])
    }

    private func place(_ entry: ComparisonReport.Entry, of compared: Int64) -> ReportBlock.Item {
        let hasOneApp = Set(report.apps.map(\.scope.app)).count == 1
        // Of a single app, the page names it once.
        let scope = hasOneApp ? entry.scope.environmentText : entry.scope.displayText
        let share = "≤ \(entry.count.share(of: compared))".replacing("≤ <", with: "<")
        let ofAll = compared > 0 ? ", \(share) of the receipts" : ""
        let words: Words = """
            \(code: "\(path: entry.path, limit: 200)", "path") \
            \(span: "\(path: scope): \(entry.count.grouped)\(ofAll)\(entry.seen)", "place")
            """
        return .init(
            [.words(words)] + examples(entry.examples),
            [
                "data-field": ComparisonReport.Entry.field(of: entry.path), "data-app": entry.scope.app,
                "data-environment": entry.scope.environmentText,
            ])
    }

    private func rule(of group: ComparisonReport.RuleGroup) -> Words {
        let noticed = group.verdict == .expected && group.isNoticeable ? " (may be noticed)" : ""
        let name: Words = "\(group.verdict.badge) \(span: "\(outside: group.rule.shortened)", "rule")\(noticed)"
        guard let rule = ComparisonRules.named[group.rule] else { return name }
        var why: Words = "\(rule.explanation)"
        if let source = rule.source, let page = source.split(separator: "/").last {
            why = "\(why) \(link: "Apple: \(String(page))", ["href": source, "rel": "noreferrer noopener"])"
        } else if rule.name != ComparisonRules.unexplained.name {
            why = "\(why) (\(ComparisonRule.observed))"
        }
        return "\(name) \(span: why, "why")"
    }

    private func examples(_ examples: [Difference]) -> [ReportBlock] {
        guard !examples.isEmpty else { return [] }
        let items = examples.map { example in
            var terms: [(String, Words)] = [
                ("verifyReceipt", .side(example.verifyReceipt?.displayText)),
                ("Server API", .side(example.serverAPI?.displayText)),
            ]
            if let setting = example.setting { terms.append(("Setting", "\(code: "\(outside: setting)")")) }
            terms.append(("Receipt", "\(code: "\(outside: example.receipt)")"))
            let path: Words = "\(code: "\(path: example.fullPath, limit: 200)", "path")"
            return ReportBlock.Item([.words(path), .terms(terms)])
        }
        let summary: Words = examples.count == 1 ? "1 example" : "\(examples.count) examples"
        return [.details(summary, [.list(items)], "examples")]
    }
}

extension Words {
    static func side(_ value: String?) -> Words {
        value.map { "\(code: "\(path: $0, limit: 200)")" } ?? "\(span: "nothing", "absent")"
    }
}

extension ComparisonReport.Entry {
    /// The first and last time to the minute. The JSON report has milliseconds.
    fileprivate var seen: Words {
        guard let first = firstSeen?.minute else { return "" }
        let words: Words = ", seen \(span: "\(first)", "minute")"
        guard let last = lastSeen?.minute, last != first else { return words }
        return "\(words) to \(span: "\(last)", "minute")"
    }

    /// Entries are filtered by this name; `row` or `order` if the path does not end in a field.
    static func field(of path: String) -> String {
        if path.hasSuffix("[]") { return "row" }
        let name = path.split(separator: ".").last.map(String.init) ?? path
        return ComparisonFinding.Part(rawValue: name) == nil ? name.shortened : "order"
    }
}
