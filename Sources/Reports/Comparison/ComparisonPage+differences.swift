import Base
import Comparison

/// The section with all differences and the filters.
extension ComparisonPage {
    /// The entries that the page shows.
    private var shown: ArraySlice<ComparisonReport.Entry> { report.entries.prefix(Self.maximumEntries) }

    func differences(into html: inout HTMLWriter) {
        html.section("differences", "Differences") { html in
            guard !shown.isEmpty else { return html.element("p", text: "Nothing differs.") }
            html.element("p", ["class": "note"]) { html in
                html.mark(ComparisonRule.Class.unexpected.rawValue, rule: "")
                html.text(" needs attention; ")
                html.mark(ComparisonRule.Class.expected.rawValue, rule: "")
                html.text(
                    """
                     is a known difference between the two endpoints; “may be noticed” if responses differ by it. \
                    A receipt may differ in several fields, so the share of receipts is an upper bound.
                    """
                )
            }
            ComparisonFilters(report, entries: shown).write(into: &html)
            let groups = ComparisonReport.RuleGroup.list(shown)
            let (ofRecords, served) = (
                groups.filter { $0.verdict == .records }, groups.filter { $0.verdict != .records }
            )
            table(of: served, named: "Differences by rule", id: "entries", into: &html)
            if !ofRecords.isEmpty {
                html.element("h3", text: "Only in the records")
                html.note(ComparisonReport.noteOfRecords)
                table(of: ofRecords, named: "Differences of the records by rule", id: "records", into: &html)
            }
            if report.entries.count > shown.count {
                let rest = Int64(report.entries.count - shown.count)
                html.note("\(rest.grouped) more in the report as JSON.")
            }
        }
    }

    /// Writes a row for each rule. Each place is an entry, with the `data-` attributes that the filters compare with.
    private func table(
        of groups: [ComparisonReport.RuleGroup], named title: String, id: String, into html: inout HTMLWriter
    ) {
        let compared = Dictionary(
            report.apps.map { ($0.scope, $0.compared) }, uniquingKeysWith: { first, _ in first })
        html.table(
            named: title, of: groups, style: .fixed, id: id,
            attributes: { group in
                [
                    "role": "row", "class": group.verdict.rawValue, "data-class": group.verdict.rawValue,
                    "data-rule": group.name,
                ]
            },
            [
                .rowHeader("Rule") { rule(of: $1, into: &$0) },
                .number("Count") { $0.count.grouped },
                .cell("Apps, paths and examples") { html, group in
                    html.element("ul", ["class": "places"]) { html in
                        for entry in group.entries { place(entry, of: compared[entry.scope] ?? 0, into: &html) }
                    }
                },
            ])
    }

    private var hasOneApp: Bool { Set(report.apps.map(\.scope.app)).count == 1 }

    private func place(_ entry: ComparisonReport.Entry, of compared: Int64, into html: inout HTMLWriter) {
        let attributes: HTMLWriter.Attributes = [
            "data-field": entry.field, "data-app": entry.scope.app, "data-environment": entry.scope.environmentText,
        ]
        html.element("li", attributes) { html in
            html.element("code", ["class": "path"]) { $0.untrusted(entry.path, limit: 200, isPath: true) }
            html.element("span", ["class": "place"]) { html in
                // Of a single app, the page names it once.
                html.untrusted(hasOneApp ? entry.scope.environmentText : entry.scope.displayText, isPath: true)
                html.text(": \(entry.count.grouped)")
                if compared > 0 {
                    html.text(", \("≤ \(entry.count.share(of: compared))".replacing("≤ <", with: "<")) of the receipts")
                }
                seen(entry, into: &html)
            }
            examples(entry.examples, into: &html)
        }
    }

    /// Writes the class, the name and the explanation of a rule, with a link to its source.
    private func rule(of group: ComparisonReport.RuleGroup, into html: inout HTMLWriter) {
        html.mark(group.verdict.rawValue, rule: "")
        html.text(" ")
        html.element("span", ["class": "rule"]) { $0.untrusted(group.name) }
        if group.verdict == .expected, group.isNoticeable { html.text(" (may be noticed)") }
        guard let rule = ComparisonRules.named[group.rule] else { return }
        html.text(" ")
        html.element("span", ["class": "why"]) { html in
            html.text(rule.explanation)
            if let source = rule.source, let page = source.split(separator: "/").last {
                html.text(" ")
                html.element("a", ["href": source, "rel": "noreferrer noopener"], text: "Apple: \(page)")
            } else if rule.name != ComparisonRules.unexplained.name {
                html.text(" (\(ComparisonRule.observed))")
            }
        }
    }

    /// Writes the first and last time to the minute. The JSON report has milliseconds.
    private func seen(_ entry: ComparisonReport.Entry, into html: inout HTMLWriter) {
        guard let first = entry.firstSeen?.minute else { return }
        html.text(", seen ")
        html.element("span", ["class": "minute"], text: first)
        guard let last = entry.lastSeen?.minute, last != first else { return }
        html.text(" to ")
        html.element("span", ["class": "minute"], text: last)
    }

    private func examples(_ examples: [Difference], into html: inout HTMLWriter) {
        guard !examples.isEmpty else { return }
        html.element("details", ["class": "examples"]) { html in
            html.element("summary", text: examples.count == 1 ? "1 example" : "\(examples.count) examples")
            html.element("ul") { html in
                for example in examples {
                    html.element("li") { html in
                        html.element("code", ["class": "path"]) {
                            $0.untrusted(example.fullPath, limit: 200, isPath: true)
                        }
                        html.element("dl") { html in
                            html.element("dt", text: "verifyReceipt")
                            html.element("dd") { $0.side(example.verifyReceipt?.displayText) }
                            html.element("dt", text: "Server API")
                            html.element("dd") { $0.side(example.serverAPI?.displayText) }
                            if let setting = example.setting {
                                html.element("dt", text: "Setting")
                                html.element("dd") { html in html.element("code") { $0.untrusted(setting) } }
                            }
                            html.element("dt", text: "Receipt")
                            html.element("dd") { html in html.element("code") { $0.untrusted(example.receipt) } }
                        }
                    }
                }
            }
        }
    }
}

extension ComparisonReport.Entry {
    /// Name of the field, which entries are filtered by.
    var field: String { Self.field(of: path) }

    /// Returns the last name of a path; `row` or `order` if the path does not end in a field.
    static func field(of path: String) -> String {
        if path.hasSuffix("[]") { return "row" }
        let name = path.split(separator: ".").last.map(String.init) ?? path
        return Finding.Part(rawValue: name) == nil ? name.shortened : "order"
    }
}

extension ComparisonReport.RuleGroup {
    /// Name of the rule, which groups are filtered by.
    var name: String { rule.shortened }
    /// The class in words.
    var label: String {
        verdict == .expected && isNoticeable ? "expected, may be noticed" : verdict.rawValue
    }
}
