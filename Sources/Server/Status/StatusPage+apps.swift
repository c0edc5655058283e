import BridgeConfiguration
import Comparison
import Reports
import Storage
import Telemetry
import VerifyReceipt

/// The section of all apps. Up to eight apps are shown one by one. For more, the page shows totals and the apps that
/// need attention; the others are collapsed.
extension StatusPage {
    /// Writes the section.
    func apps(_ html: inout HTMLWriter) {
        html.section("apps", "Apps") { html in
            guard !snapshot.apps.isEmpty else {
                return html.element("p", text: "No app is configured, and no request has arrived yet.")
            }
            if snapshot.apps.count > HTMLWriter.maximumOpen {
                summary(&html)
            } else {
                for app in snapshot.apps { article(app, &html) }
            }
        }
    }

    /// Writes totals, the apps that need attention and collapsed lists of the others.
    private func summary(_ html: inout HTMLWriter) {
        let apps = snapshot.apps.filter { !$0.isOthers }
        let concerned = apps.filter { !$0.concerns.isEmpty }
        let quiet = apps.filter(\.concerns.isEmpty)
        let (used, idle) = (quiet.filter(\.wasUsed), quiet.filter { !$0.wasUsed })
        let counts = [apps, concerned, used, idle].map { Int64($0.count).grouped }
        html.element(
            "p",
            text: """
                \(counts[0]) apps: \(counts[1]) in need of attention, \(counts[2]) in order, \(counts[3]) without a \
                receipt yet.
                """)
        if snapshot.verdicts > 0 { answers(snapshot.traffic, named: "Responses of all apps", &html) }
        html.element("div", ["class": "folds"]) { html in
            for app in concerned.prefix(HTMLWriter.maximumOpen) { article(app, &html) }
            html.fold(Array(concerned.dropFirst(HTMLWriter.maximumOpen)), "more in need of attention") { apps, html in
                for app in apps { folded(app, &html) }
            }
            html.fold(used, "in order") { apps, html in
                for app in apps { folded(app, &html) }
            }
            html.fold(idle, "without a receipt yet") { apps, html in
                html.element("ul", ["class": "names"]) { html in
                    for app in apps { html.element("li") { $0.untrusted(app.name, isPath: true) } }
                }
            }
            for app in snapshot.apps where app.isOthers { folded(app, &html) }
        }
    }
}

/// The section of one app.
extension StatusPage {
    /// Writes an app that is not collapsed.
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

    /// Writes the details of an app: problems, sources, responses, comparisons, refunds and deliveries.
    private func body(of app: StatusSnapshot.App, _ html: inout HTMLWriter) {
        if !app.concerns.isEmpty {
            html.element("p", ["class": "concerns"]) { html in
                html.element("span", ["class": "mark", "aria-hidden": "true"], text: "▲ ")
                html.text("Needs attention: \(app.concerns.joined(separator: "; ")).")
            }
        }
        if !app.sources.isEmpty { html.note(app.answeredBy) }
        app.rollout?.write(into: &html)
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
            named: caption, of: traffic.byCount,
            [
                .rowHeader("Status") { $0.text($1.status.text) },
                .text("Meaning") { $0.status.meaning },
                .text("Source") { $0.source.text },
                .text("Environment") { $0.environment.text },
                .number("Responses") { $0.count.grouped },
                .number("Share") { $0.count.part(of: all) },
            ])
    }

    /// Writes whether the app may switch to the other source, according to background comparison.
    private func readiness(_ readiness: Readiness, _ html: inout HTMLWriter) {
        html.element("p", ["class": "verdict \(readiness.style)"]) { html in
            html.element("strong", text: "\(readiness.decision): ")
            html.untrusted(readiness.app.scope.environment)
            html.text(". ")
            html.untrusted(readiness.statement, limit: 2_000)
            html.text(" ")
            html.element("a", ["href": "/comparisons"], text: "All comparisons")
        }
    }
}

extension HTMLWriter {
    /// Writes the bundle id. `other` stands for all apps that are not configured.
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
        let genuine = "\(traffic.count(\.isGenuine).part(of: verdicts)) genuine"
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
        case "21004": "shared secret wrong or missing"
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
