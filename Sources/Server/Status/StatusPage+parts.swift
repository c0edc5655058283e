import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeTransport

/// The sections of the page that do not concern a single app.
extension StatusPage {
    /// Response times by source.
    var sources: ReportBlock {
        let used = snapshot.latencies.filter { $0.histogram.count > 0 }
        let table = ReportTable(
            "Time from a request's body to its response", of: used, style: .narrowCards,
            [
                .rowHeader("Source") { "\($0.source)" },
                .number("Responses") { $0.histogram.count.grouped },
                .number("Half within") { $0.histogram.words(at: 0.5) },
                .number("95 % within") { $0.histogram.words(at: 0.95) },
                .number("99 % within") { $0.histogram.words(at: 0.99) },
            ])
        return .section(id: "sources", "Sources", [used.isEmpty ? .paragraph("No receipt yet.") : .table(table)])
    }

    /// Requests to the App Store by endpoint and environment, and the circuit breakers of its hosts.
    var upstream: ReportBlock {
        guard !snapshot.upstream.isEmpty else {
            return .section(id: "upstream", "App Store", [.paragraph("No request was sent yet.")])
        }
        let hosts = ReportTable(
            "Hosts", of: snapshot.hosts,
            [
                .rowHeader("Host") { "\(outside: $0.host)" },
                .cell("State") { $0.state == .closed ? "available" : "failing, circuit breaker open" },
                .number("Circuit opened") { $0.opened.grouped },
                .number("Not sent") { ($0.refused + $0.rejectedRetries).grouped },
                .number("In flight") { Int64($0.inFlight).grouped },
            ])
        let requests = ReportTable(
            "Requests to the App Store", of: snapshot.upstream,
            [
                .rowHeader("Endpoint") { "\($0.endpoint)" },
                .cell("Environment") { "\($0.environment.rawValue)" },
                .cell("Outcomes") { "\($0.outcomes.words)" },
                .number("Requests") { $0.asked.grouped },
                .number("Answered") { $0.answered.part(of: $0.asked) },
                .number("95 % within") { $0.duration.words(at: 0.95) },
            ])
        return .section(
            id: "upstream", "App Store", (snapshot.hosts.isEmpty ? [] : [.table(hosts)]) + [.table(requests)])
    }

    /// Calls left in the hourly budgets, the lowest share first.
    var budgets: ReportBlock {
        let rows = snapshot.budgets.flatMap { budget in budget.levels.map { (app: budget.bundleId, level: $0) } }
            .sorted { $0.level.part < $1.level.part }
        let tables = Self.folding(rows, "more limits") { rows in
            .table(
                ReportTable(
                    "Calls to the App Store Server API, lowest share left first", of: rows,
                    [
                        .rowHeader("App") { "\(path: $0.app.rawValue)" },
                        .cell("Endpoint") { "\($0.level.endpoint.name)" },
                        .cell("Environment") { "\($0.level.environment.rawValue)" },
                        .number("Left") { $0.level.left.grouped },
                        .number("Of") { $0.level.limit.grouped },
                        .number("Share") { $0.level.left.part(of: $0.level.limit) },
                    ]))
        }
        return .section(
            id: "budgets", "Calls left this hour",
            rows.isEmpty ? [.paragraph("No call to the App Store Server API was made yet.")] : tables)
    }

    var notifications: ReportBlock {
        let facts = snapshot.notifications.map { ($0.name, $0.value) }
        return .section(id: "notifications", "Notifications", [.facts("From the App Store, since the start", facts)])
    }

    /// Facts about the process and its store.
    var process: ReportBlock {
        let facts = [("Version", snapshot.version), ("Up for", snapshot.uptime.displayText)]
        let all = facts + snapshot.facts.map { ($0.name, $0.value) }
        return .section(id: "process", "Process", [.facts("This process and its store", all)])
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
