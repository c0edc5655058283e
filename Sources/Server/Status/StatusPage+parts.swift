import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeTransport
import ReceiptBridgeStorage

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

/// The section of all apps. Up to eight apps are shown one by one. For more, the page shows totals and the apps that
/// need attention; the others are folded away.
extension StatusPage {
    var apps: ReportBlock {
        guard !snapshot.apps.isEmpty else {
            return .section(id: "apps", "Apps", [.paragraph("No app is configured, and no request has arrived yet.")])
        }
        return .section(
            id: "apps", "Apps", snapshot.apps.count > Self.maximumOpen ? summary : snapshot.apps.map(article))
    }

    private var summary: [ReportBlock] {
        let apps = snapshot.apps.filter { !$0.isOthers }
        let concerned = apps.filter { !$0.concerns.isEmpty }
        let quiet = apps.filter(\.concerns.isEmpty)
        let (used, idle) = (quiet.filter(\.wasUsed), quiet.filter { !$0.wasUsed })
        let counts = [apps, concerned, used, idle].map { Int64($0.count).grouped }
        let folds =
            concerned.prefix(Self.maximumOpen).map(article)
            + Self.fold(concerned.dropFirst(Self.maximumOpen), "more in need of attention") { $0.map(folded) }
            + Self.fold(used[...], "in order") { $0.map(folded) }
            + Self.fold(idle[...], "without a receipt yet") { [.list(of: $0.map { "\(path: $0.name)" }, "names")] }
            + snapshot.apps.filter(\.isOthers).map(folded)
        return [
            .paragraph(
                """
                \(counts[0]) apps: \(counts[1]) in need of attention, \(counts[2]) in order, \(counts[3]) without a \
                receipt yet.
                """)
        ] + (snapshot.verdicts > 0 ? [answers(snapshot.traffic, named: "Responses of all apps")] : [])
            + [.group("folds", folds)]
    }

    // MARK: - One app

    private func article(_ app: StatusSnapshot.App) -> ReportBlock {
        .group("app", [.heading(app.title)] + body(of: app), as: "article")
    }

    /// The app's name and totals; folded away below them is the same as in ``article(_:)``.
    private func folded(_ app: StatusSnapshot.App) -> ReportBlock {
        .details("\(strong: app.title) \(span: "\(app.summary)", "counts")", body(of: app), "app")
    }

    private func body(of app: StatusSnapshot.App) -> [ReportBlock] {
        var blocks: [ReportBlock] = []
        if !app.concerns.isEmpty {
            let concerns = app.concerns.joined(separator: "; ")
            blocks.append(.paragraph("\(sign: "▲", "mark")Needs attention: \(concerns).", "concerns"))
        }
        if !app.sources.isEmpty { blocks.append(.note("\(app.answeredBy)")) }
        if let rollout = app.rollout { blocks.append(rollout.paragraph) }
        blocks.append(app.traffic.isEmpty ? .paragraph("No receipt yet.") : answers(app.traffic, named: "Responses"))
        blocks += app.readiness.map(\.paragraph)
        if !app.facts.isEmpty { blocks.append(.facts("Refunds and forwarding", app.facts)) }
        return blocks
    }

    private func answers(_ traffic: [StatusSnapshot.Traffic], named caption: String) -> ReportBlock {
        let all = traffic.count { _ in true }
        return .table(
            ReportTable(
                caption, of: traffic.byCount,
                [
                    .rowHeader("Status") { "\($0.status.text)" },
                    .cell("Meaning") { "\($0.status.meaning)" },
                    .cell("Source") { "\($0.source.text)" },
                    .cell("Environment") { "\($0.environment.text)" },
                    .number("Responses") { $0.count.grouped },
                    .number("Share") { $0.count.part(of: all) },
                ]))
    }
}

extension Readiness {
    /// Whether the app may switch to the other source, according to the background comparison.
    fileprivate var paragraph: ReportBlock {
        .paragraph(
            """
            \(strong: "\(decision): ")\(outside: app.scope.environment). \(outside: statement, limit: 2_000) \
            \(link: "All comparisons", ["href": "/comparisons"])
            """, "verdict \(style)")
    }
}

extension StatusSnapshot.App {
    /// The bundle id. `other` stands for all apps that are not configured.
    fileprivate var title: Words { isOthers ? "All other apps" : "\(path: name)" }

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
            facts.append(("Forwarding", attempts.map { "\($0.count.grouped) \($0.outcome)" }.joined(separator: ", ")))
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
