import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeBase

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
