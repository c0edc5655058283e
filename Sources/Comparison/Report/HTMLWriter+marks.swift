import Reports

extension HTMLWriter {
    /// A class of differences in a symbol and a word.
    mutating func mark(_ verdict: String, rule: String) {
        let style = ComparisonRule.Class(rawValue: verdict) ?? .unexpected
        element("span", ["class": "badge \(style.rawValue)"]) { html in
            html.element("span", ["aria-hidden": "true"], text: "\(style.symbol) ")
            html.text(style.rawValue)
            if !rule.isEmpty { html.text(": \(ComparedValue.text(rule).truncated.words)") }
        }
    }

    /// An app, and its environment below it.
    mutating func scope(_ scope: ComparisonReport.Scope) {
        foreign(scope.app, isPath: true)
        text(" ")
        element("span", ["class": "place"]) { $0.foreign(scope.place) }
    }

    /// A value of a side; nothing is said in words.
    mutating func side(_ value: String?) {
        guard let value else { return element("span", ["class": "absent"], text: "nothing") }
        element("code") { $0.foreign(value, limit: 200, isPath: true) }
    }
}
