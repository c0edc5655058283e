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
        section("sources", "Sources", &html) { html in
            let used = snapshot.latencies.filter { $0.histogram.count > 0 }
            guard !used.isEmpty else { return html.element("p", text: "No receipt yet.") }
            let parts = [("Half within", 0.5), ("95 % within", 0.95), ("99 % within", 0.99)]
            let numericColumns = ["Responses"] + parts.map(\.0)
            html.table(
                named: "Time from a request's body to its response", columns: ["Source"] + numericColumns,
                numbers: Set(numericColumns), style: .narrowCards
            ) { html in
                for (source, histogram) in used {
                    html.row { html in
                        html.cell(isHeader: true, "Source") { $0.text(source) }
                        html.cell("Responses", number: histogram.count.grouped)
                        for (name, part) in parts { html.cell(name, number: histogram.words(at: part)) }
                    }
                }
            }
        }
    }

    /// Requests to the App Store by endpoint and environment.
    func upstream(_ html: inout HTMLWriter) {
        section("upstream", "App Store", &html) { html in
            guard !snapshot.upstream.isEmpty else { return html.element("p", text: "No request was sent yet.") }
            if !snapshot.hosts.isEmpty { hosts(&html) }
            let numericColumns = ["Requests", "Answered", "95 % within"]
            html.table(
                named: "Requests to the App Store",
                columns: ["Endpoint", "Environment", "Outcomes"] + numericColumns,
                numbers: Set(numericColumns)
            ) { html in
                for row in snapshot.upstream { exchange(row, &html) }
            }
        }
    }

    /// Circuit breakers by host.
    private func hosts(_ html: inout HTMLWriter) {
        let numericColumns = ["Circuit opened", "Not sent", "In flight"]
        html.table(named: "Hosts", columns: ["Host", "State"] + numericColumns, numbers: Set(numericColumns)) {
            html in
            for host in snapshot.hosts {
                html.row { html in
                    html.cell(isHeader: true, "Host") { $0.untrusted(host.host) }
                    html.cell("State", text: host.state == .closed ? "available" : "failing, circuit breaker open")
                    html.cell("Circuit opened", number: host.opened.grouped)
                    html.cell("Not sent", number: (host.refused + host.rejectedRetries).grouped)
                    html.cell("In flight", number: Int64(host.inFlight).grouped)
                }
            }
        }
    }

    /// A row of the requests to one endpoint.
    private func exchange(_ row: UpstreamMetrics.Row, _ html: inout HTMLWriter) {
        html.row { html in
            html.cell(isHeader: true, "Endpoint") { $0.text(row.endpoint) }
            html.cell("Environment", text: row.environment.rawValue)
            html.cell("Outcomes", text: row.outcomes.words)
            html.cell("Requests", number: row.asked.grouped)
            html.cell("Answered", number: row.answered.share(of: row.asked))
            html.cell("95 % within", number: row.duration.words(at: 0.95))
        }
    }

    /// Calls left in the hourly budgets, the lowest share first.
    func budgets(_ html: inout HTMLWriter) {
        section("budgets", "Calls left this hour", &html) { html in
            let rows = snapshot.budgets.flatMap { budget in budget.levels.map { (budget.bundleId, $0) } }
            guard !rows.isEmpty else {
                return html.element("p", text: "No call to the App Store Server API was made yet.")
            }
            html.folding(rows.sorted { $0.1.part < $1.1.part }, "more limits") { rows, html in
                html.table(
                    named: "Calls to the App Store Server API, lowest share left first",
                    columns: ["App", "Endpoint", "Environment", "Left", "Of", "Share"],
                    numbers: ["Left", "Of", "Share"]
                ) { html in
                    for (bundleId, level) in rows { calls(bundleId, level, &html) }
                }
            }
        }
    }

    /// A row of the calls to one endpoint.
    private func calls(_ bundleId: BundleIdentifier, _ level: ServerAPIBudget.Level, _ html: inout HTMLWriter) {
        html.row { html in
            html.cell(isHeader: true, "App") { $0.untrusted(bundleId.rawValue, isPath: true) }
            html.cell("Endpoint", text: level.endpoint.name)
            html.cell("Environment", text: level.environment.rawValue)
            html.cell("Left", number: level.left.grouped)
            html.cell("Of", number: level.limit.grouped)
            html.cell("Share", number: level.left.share(of: level.limit))
        }
    }

    /// Notifications by result.
    func notifications(_ html: inout HTMLWriter) {
        section("notifications", "Notifications", &html) { html in
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
        section("process", "Process", &html) { html in
            html.facts(
                "This process and its store",
                [("Version", snapshot.version), ("Up for", snapshot.uptime.displayText)]
                    + snapshot.facts.map { ($0.name, $0.value) })
        }
    }

    /// Writes a section with a heading.
    ///
    /// - Parameter id: The anchor of the heading.
    func section(
        _ id: String, _ title: String, _ html: inout HTMLWriter, _ body: (inout HTMLWriter) -> Void
    ) {
        html.element("section", ["aria-labelledby": id]) { html in
            html.element("h2", ["id": id], text: title)
            body(&html)
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
