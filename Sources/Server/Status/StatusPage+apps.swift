import Comparison
import Pipeline
import Reports
import Telemetry
import Ledger

/// What became of each app's receipts.
extension StatusPage {
    func apps(_ html: inout HTMLWriter) {
        html.element("section", ["aria-labelledby": "apps"]) { html in
            html.element("h2", ["id": "apps"], text: "Apps")
            if figures.apps.isEmpty {
                html.element("p", text: "No app is configured, and nothing was asked yet.")
            }
            for app in figures.apps { self.app(app, &html) }
        }
    }

    private func app(_ app: StatusFigures.App, _ html: inout HTMLWriter) {
        html.element("article", ["class": "app"]) { html in
            html.element("h3") { html in
                if app.isOthers { html.text("All other apps") } else { html.foreign(app.name) }
            }
            if !app.sources.isEmpty {
                let sources = app.sources.map(\.rawValue).joined(separator: ", then ")
                let shadow = app.shadow.map { "; compared with \($0.rawValue)" } ?? ""
                html.element("p", ["class": "note"], text: "Answered by \(sources)\(shadow).")
            }
            if app.traffic.isEmpty { html.element("p", text: "No receipt yet.") } else { traffic(app, &html) }
            for readiness in app.readiness { self.readiness(readiness, &html) }
            if !app.facts.isEmpty {
                html.element("table", ["class": "facts"]) { html in
                    html.element("tbody") { html in
                        for (name, value) in app.facts { html.fact(name, value) }
                    }
                }
            }
        }
    }

    private func traffic(_ app: StatusFigures.App, _ html: inout HTMLWriter) {
        html.scrolling("Answers of \(app.isOthers ? "other apps" : app.name)") { html in
            html.element("table") { html in
                html.head(["Status", "What it says", "Source", "Environment", "Answers", "Share"], numbers: 2)
                html.element("tbody") { html in
                    for row in app.traffic.sorted(by: { $0.count > $1.count }) {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"], text: row.status.text)
                            html.element("td", text: row.status.meaning)
                            html.element("td", text: row.source.text)
                            html.element("td", text: row.environment.text)
                            html.element("td", ["class": "number"], text: row.count.grouped)
                            html.element("td", ["class": "number"], text: row.count.share(of: app.verdicts))
                        }
                    }
                }
            }
        }
    }

    private func readiness(_ readiness: Readiness, _ html: inout HTMLWriter) {
        html.element("p", ["class": "verdict \(readiness.verdict.rawValue)"]) { html in
            html.element("strong", text: "\(readiness.verdict.words). ")
            html.foreign(readiness.app.scope.environment)
            html.text(": ")
            html.foreign(readiness.statement, limit: 2_000)
            html.text(" ")
            html.element("a", ["href": "/comparisons"], text: "All comparisons")
        }
    }
}

extension StatusFigures.App {
    fileprivate var isOthers: Bool { name == "other" && sources.isEmpty }

    fileprivate var facts: [(String, String)] {
        var facts: [(String, String)] = []
        if revocations > 0 { facts.append(("Refunds and revocations seen", revocations.grouped)) }
        let attempts = deliveries.filter { $0.count > 0 }
        if !attempts.isEmpty {
            facts.append(
                ("Forwarding", attempts.map { "\($0.count.grouped) \($0.outcome)" }.joined(separator: ", ")))
        }
        if let backlog {
            facts.append(
                ("Forwarding, in the store", "\(backlog.waiting.grouped) waiting, \(backlog.dead.grouped) given up"))
        }
        return facts
    }
}

extension StatusLabel {
    /// In a few words.
    fileprivate var meaning: String {
        switch text {
        case "0": "genuine"
        case "21000": "not a POST"
        case "21002": "not a receipt"
        case "21003": "not authentic"
        case "21004": "wrong shared secret"
        case "21005": "no answer now"
        case "21006": "genuine, subscription over"
        case "21007": "sandbox receipt, production asked"
        case "21008": "production receipt, sandbox asked"
        case "21009", "211xx": "a fault inside the App Store"
        case "21010": "account not found"
        default: "–"
        }
    }
}
