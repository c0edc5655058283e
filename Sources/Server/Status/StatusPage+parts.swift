import AppStoreClients
import Base
import Notifications
import Reports
import Telemetry
import Transport
import VerifyReceipt

/// The sections of the page that do not concern a single app.
extension StatusPage {
    /// Response times by source.
    func sources(_ html: inout HTMLWriter) {
        html.section("sources", "Sources") { html in
            let used = snapshot.latencies.filter { $0.histogram.count > 0 }
            guard !used.isEmpty else { return html.element("p", text: "No receipt yet.") }
            html.table(
                named: "Time from a request's body to its response", of: used, style: .narrowCards,
                [
                    .rowHeader("Source") { $0.text($1.source) },
                    .number("Responses") { $0.histogram.count.grouped },
                    .number("Half within") { $0.histogram.words(at: 0.5) },
                    .number("95 % within") { $0.histogram.words(at: 0.95) },
                    .number("99 % within") { $0.histogram.words(at: 0.99) },
                ])
        }
    }

    /// Requests to the App Store by endpoint and environment.
    func upstream(_ html: inout HTMLWriter) {
        html.section("upstream", "App Store") { html in
            guard !snapshot.upstream.isEmpty else { return html.element("p", text: "No request was sent yet.") }
            if !snapshot.hosts.isEmpty { hosts(&html) }
            html.table(
                named: "Requests to the App Store", of: snapshot.upstream,
                [
                    .rowHeader("Endpoint") { $0.text($1.endpoint) },
                    .text("Environment") { $0.environment.rawValue },
                    .text("Outcomes") { $0.outcomes.words },
                    .number("Requests") { $0.asked.grouped },
                    .number("Answered") { $0.answered.part(of: $0.asked) },
                    .number("95 % within") { $0.duration.words(at: 0.95) },
                ])
        }
    }

    /// Circuit breakers by host.
    private func hosts(_ html: inout HTMLWriter) {
        html.table(
            named: "Hosts", of: snapshot.hosts,
            [
                .rowHeader("Host") { $0.untrusted($1.host) },
                .text("State") { $0.state == .closed ? "available" : "failing, circuit breaker open" },
                .number("Circuit opened") { $0.opened.grouped },
                .number("Not sent") { ($0.refused + $0.rejectedRetries).grouped },
                .number("In flight") { Int64($0.inFlight).grouped },
            ])
    }

    /// Calls left in the hourly budgets, the lowest share first.
    func budgets(_ html: inout HTMLWriter) {
        html.section("budgets", "Calls left this hour") { html in
            let rows = snapshot.budgets.flatMap { budget in budget.levels.map { (app: budget.bundleId, level: $0) } }
            guard !rows.isEmpty else {
                return html.element("p", text: "No call to the App Store Server API was made yet.")
            }
            html.folding(rows.sorted { $0.level.part < $1.level.part }, "more limits") { rows, html in
                html.table(
                    named: "Calls to the App Store Server API, lowest share left first", of: rows,
                    [
                        .rowHeader("App") { $0.untrusted($1.app.rawValue, isPath: true) },
                        .text("Endpoint") { $0.level.endpoint.name },
                        .text("Environment") { $0.level.environment.rawValue },
                        .number("Left") { $0.level.left.grouped },
                        .number("Of") { $0.level.limit.grouped },
                        .number("Share") { $0.level.left.part(of: $0.level.limit) },
                    ])
            }
        }
    }

    /// Notifications by result.
    func notifications(_ html: inout HTMLWriter) {
        html.section("notifications", "Notifications") { html in
            let counts = snapshot.notifications
            var facts = [("Stored", counts.stored.grouped), ("Duplicates", counts.repeated.grouped)]
            for code in NotificationRejection.Code.allCases {
                if let count = counts.refused[code], count > 0 {
                    facts.append(("Rejected: \(code.rawValue)", count.grouped))
                }
            }
            if counts.droppedHints > 0 {
                facts.append(("Lookups dropped", counts.droppedHints.grouped))
            }
            html.facts("From the App Store, since the start", facts)
        }
    }

    /// Facts about the process and its store.
    func process(_ html: inout HTMLWriter) {
        html.section("process", "Process") { html in
            html.facts(
                "This process and its store",
                [("Version", snapshot.version), ("Up for", snapshot.uptime.displayText)]
                    + snapshot.facts.map { ($0.name, $0.value) })
        }
    }
}

extension ServerAPIBudget.Level {
    /// The share of calls that are left, 0 to 1.
    fileprivate var part: Double { limit > 0 ? Double(left) / Double(limit) : 1 }
}

extension Histogram {
    /// Returns the upper bound of the bucket that contains the quantile `part`, for example `2.5 ms`.
    fileprivate func words(at part: Double) -> String {
        guard let seconds = seconds(at: part) else { return "–" }
        if seconds.isInfinite { return "over 10 s" }
        if seconds >= 1 { return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s" }
        let milliseconds = seconds * 1_000
        return milliseconds == milliseconds.rounded() ? "\(Int(milliseconds)) ms" : "\(milliseconds) ms"
    }
}
