import Comparison
import Ledger
import Pipeline
import Reports
import Telemetry

/// The section of one app.
extension StatusPage {
    func article(_ app: StatusSnapshot.App, _ html: inout HTMLWriter) {
        html.element("article", ["class": "app"]) { html in
            html.element("h3") { $0.name(of: app) }
            body(of: app, &html)
        }
    }

    /// Writes a closed `<details>` with the app's name and totals; its content is the same as in ``article(_:_:)``.
    func folded(_ app: StatusSnapshot.App, _ html: inout HTMLWriter) {
        html.element("details", ["class": "app"]) { html in
            html.element("summary") { html in
                html.element("strong") { $0.name(of: app) }
                html.text(" ")
                html.element("span", ["class": "counts"], text: app.summary)
            }
            body(of: app, &html)
        }
    }

    private func body(of app: StatusSnapshot.App, _ html: inout HTMLWriter) {
        if !app.concerns.isEmpty {
            html.element("p", ["class": "concerns"]) { html in
                html.element("span", ["class": "mark", "aria-hidden": "true"], text: "▲ ")
                html.text("Needs attention: \(app.concerns.joined(separator: "; ")).")
            }
        }
        if !app.sources.isEmpty { html.element("p", ["class": "note"], text: app.answeredBy) }
        if app.traffic.isEmpty {
            html.element("p", text: "No receipt yet.")
        } else {
            answers(app.traffic, named: "Responses", &html)
        }
        for readiness in app.readiness { self.readiness(readiness, &html) }
        if !app.facts.isEmpty { html.facts("Refunds and forwarding", app.facts) }
    }

    /// Writes a table of responses by status, source and environment.
    func answers(_ traffic: [StatusSnapshot.Traffic], named caption: String, _ html: inout HTMLWriter) {
        let all = traffic.count { _ in true }
        html.table(
            named: caption, columns: ["Status", "Meaning", "Source", "Environment", "Responses", "Share"],
            numbers: ["Responses", "Share"]
        ) { html in
            for row in traffic.byCount {
                html.row { html in
                    html.cell(isHeader: true, "Status") { $0.text(row.status.text) }
                    html.cell("Meaning", text: row.status.meaning)
                    html.cell("Source", text: row.source.text)
                    html.cell("Environment", text: row.environment.text)
                    html.cell("Responses", number: row.count.grouped)
                    html.cell("Share", number: row.count.share(of: all))
                }
            }
        }
    }

    private func readiness(_ readiness: Readiness, _ html: inout HTMLWriter) {
        html.element("p", ["class": "verdict \(readiness.verdict.rawValue)"]) { html in
            html.element("strong", text: "\(readiness.verdict.displayText). ")
            html.untrusted(readiness.app.scope.environment)
            html.text(": ")
            html.untrusted(readiness.statement, limit: 2_000)
            html.text(" ")
            html.element("a", ["href": "/comparisons"], text: "All comparisons")
        }
    }
}

extension HTMLWriter {
    fileprivate mutating func name(of app: StatusSnapshot.App) {
        if app.isOthers { text("All other apps") } else { untrusted(app.name, isPath: true) }
    }
}

extension StatusSnapshot.App {
    /// Returns whether the app has any counts to show.
    var wasUsed: Bool { !traffic.isEmpty || !readiness.isEmpty || !facts.isEmpty }

    /// Returns whether this is the entry of all apps that are not configured.
    var isOthers: Bool { name == "other" && sources.isEmpty }

    fileprivate var answeredBy: String {
        let shadow = shadow.map { "; compared with \($0.rawValue)" } ?? ""
        return "Answered by \(sources.map(\.rawValue).joined(separator: ", then "))\(shadow)."
    }

    fileprivate var summary: String {
        let genuine = "\(traffic.count(\.isGenuine).share(of: verdicts)) genuine"
        let answers = verdicts == 1 ? "1 response" : "\(verdicts.grouped) responses"
        return ((verdicts > 0 ? [answers, genuine] : ["no receipt yet"]) + concerns).joined(separator: ", ")
    }

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
                (
                    "Forwarding, in the store",
                    "\(backlog.waiting.grouped) waiting, \(backlog.abandoned.grouped) failed for good"
                ))
        }
        return facts
    }
}

extension StatusLabel {
    /// A short description of the status.
    fileprivate var meaning: String {
        switch text {
        case "0": "genuine"
        case "21000": "not a POST"
        case "21002": "not a receipt"
        case "21003": "not authentic"
        case "21004": "wrong shared secret"
        case "21005": "temporarily unavailable"
        case "21006": "genuine, subscription expired"
        case "21007": "sandbox receipt sent to production"
        case "21008": "production receipt sent to sandbox"
        case "21009", "211xx": "internal App Store error"
        case "21010": "account not found"
        default: "–"
        }
    }
}
