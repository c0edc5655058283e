import Reports

extension HTMLWriter {
    /// Writes a class of differences as a symbol and a word.
    mutating func mark(_ verdict: String, rule: String) {
        let style = ComparisonRule.Class(rawValue: verdict) ?? .unexpected
        element("span", ["class": "badge \(style.rawValue)"]) { html in
            html.element("span", ["aria-hidden": "true"], text: "\(style.symbol) ")
            html.text(style.rawValue)
            if !rule.isEmpty { html.text(": \(ComparedValue.text(rule).truncated.displayText)") }
        }
    }

    /// Writes an app, with its environment below.
    mutating func scope(_ scope: ComparisonReport.Scope) {
        untrusted(scope.app, isPath: true)
        text(" ")
        element("span", ["class": "place"]) { $0.untrusted(scope.environmentText) }
    }

    /// Writes the value of a side, or the word "nothing" if there is none.
    mutating func side(_ value: String?) {
        guard let value else { return element("span", ["class": "absent"], text: "nothing") }
        element("code") { $0.untrusted(value, limit: 200, isPath: true) }
    }
}
