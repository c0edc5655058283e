import Base
package import Comparison

/// The section with the result for each app, for the decision to switch.
extension ComparisonPage {
    /// Writes the heading, the recommendation for each app, and the totals.
    func header(_ html: inout HTMLWriter) {
        let kind = report.kind == .run ? "comparison" : "shadow comparison"
        html.element("p", ["class": "product"], text: "Receipt Bridge · \(kind) · \(report.madeAt.displayText)")
        html.element("h1") { $0.untrusted(report.title) }
        if readiness.isEmpty {
            html.element("p", ["class": "summary"], text: "No receipt was compared.")
        } else {
            html.element("ul", ["class": "verdicts"]) { html in
                let deciding = readiness.filter(\.decides) + readiness.filter { !$0.decides }
                for readiness in deciding.prefix(Self.maximumApps) { readiness.write(into: &html) }
            }
        }
        if readiness.count > Self.maximumApps {
            let rest = Int64(readiness.count - Self.maximumApps)
            html.note("\(rest.grouped) more in the report as JSON.")
        }
        for rollout in report.rollouts.prefix(Self.maximumApps) { rollout.write(into: &html) }
        html.tiles(tiles)
    }

    /// The totals.
    private var tiles: [(name: String, value: String)] {
        let compared = readiness.reduce(0) { $0 + $1.app.compared }
        let different = readiness.reduce(0) { $0 + $1.different }
        return [
            ("receipts compared", compared.grouped),
            ("customers", readiness.reduce(0) { $0 + $1.app.customers }.grouped),
            ("would get the same answer", (compared - different).share(of: compared)),
            ("receipts differ unexpectedly", different.grouped),
            ("unexpected differences", report.count(.unexpected).grouped),
            ("expected differences", report.count(.expected).grouped),
            ("receipts not compared", readiness.reduce(0) { $0 + $1.failed }.grouped),
        ]
    }
}

extension ComparisonReport {
    func count(_ verdict: ComparisonRule.Class) -> Int64 {
        entries.reduce(0) { $0 + ($1.verdict == verdict ? $1.count : 0) }
    }
}

extension Readiness {
    fileprivate func write(into html: inout HTMLWriter) {
        html.element("li", ["class": "verdict \(style)"]) { html in
            html.element("p", ["class": "word"]) { html in
                html.element(
                    "svg",
                    ["viewBox": "0 0 24 24", "width": "28", "height": "28", "aria-hidden": "true"]
                ) { html in
                    html.empty("path", ["class": "shape", "d": shape])
                    html.empty("path", ["class": "mark", "d": mark])
                }
                html.text(decision)
            }
            html.element("p", ["class": "sentence"]) { html in
                html.element("strong") { html in
                    html.untrusted(app.scope.displayText)
                }
                html.text(". ")
                html.untrusted(statement, limit: 2_000)
            }
        }
    }

    /// SVG outline that identifies the result without color: a circle, a triangle, an octagon.
    private var shape: String {
        switch verdict {
        case _ where !decides, .safe: "M12 1a11 11 0 1 0 0 22a11 11 0 1 0 0-22z"
        case .notYet: "M12 1.5L23.5 22H.5z"
        case .notSafe: "M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4z"
        }
    }

    /// SVG path of the symbol: a check mark, an exclamation mark, a cross; an `i` for information.
    private var mark: String {
        switch verdict {
        case _ where !decides: "M12 6.4v1.4M12 11v7"
        case .safe: "M6.5 12.5l3.8 3.8l7.2-8.2"
        case .notYet: "M12 9v6M12 17.6v1.4"
        case .notSafe: "M8 8l8 8M16 8l-8 8"
        }
    }
}

extension RolloutReport {
    /// Writes the state of a gradual switch as a paragraph.
    package func write(into html: inout HTMLWriter) {
        html.element("p", ["class": "rollout \(phase.rawValue)"]) { html in
            html.element("strong", text: phase == .stopped ? "▲ Gradual switch stopped. " : "Gradual switch. ")
            html.untrusted(bundleId, isPath: true)
            html.text(": \(sentence)")
        }
    }
}
