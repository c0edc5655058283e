import Comparison

/// The filter controls of the page. They are hidden if scripts do not run.
struct ComparisonFilters {
    /// Options of each filter, sorted. Only values that are on the page are listed.
    private let apps, environments, classes, rules, fields: [String]

    init(_ report: ComparisonReport, entries: ArraySlice<ComparisonReport.Entry>) {
        let scopes = entries.map(\.scope) + report.pairs.map { $0.scope }
        apps = Set(scopes.map(\.app)).sorted()
        environments = Set(scopes.map(\.environmentText)).sorted()
        classes = ComparisonRule.Class.allCases.map(\.rawValue).sorted()
        rules = Set(ComparisonReport.RuleGroup.list(entries).map(\.name)).sorted()
        fields = Set(entries.map(\.field)).sorted()
    }

    /// Writes the controls. The `hidden` attribute is removed by the script.
    func write(into html: inout HTMLWriter) {
        html.element(
            "div", ["id": "filters", "class": "filters", "role": "search", "aria-label": "Filter", "hidden": "hidden"]
        ) { html in
            select("App", "app", apps, into: &html)
            select("Environment", "environment", environments, into: &html)
            select("Class", "class", classes, into: &html)
            select("Rule", "rule", rules, into: &html)
            select("Field", "field", fields, into: &html)
            html.element("label") { html in
                html.element("span", text: "Path, value or receipt")
                html.empty(
                    "input", ["type": "search", "data-key": "text", "autocomplete": "off", "spellcheck": "false"])
            }
            html.element("button", ["type": "button", "id": "reset"], text: "Reset")
            html.element("p", ["id": "shown", "role": "status", "aria-live": "polite"], text: "")
        }
    }

    private func select(_ title: String, _ key: String, _ values: [String], into html: inout HTMLWriter) {
        html.element("label") { html in
            html.element("span", text: title)
            html.element("select", ["data-key": key]) { html in
                html.element("option", ["value": ""], text: "all")
                for value in values { html.element("option", ["value": value], text: value) }
            }
        }
    }
}

extension AlignedPair {
    var scope: ComparisonReport.Scope { ComparisonReport.Scope(bundleId: bundleId, environment: environment) }
}
