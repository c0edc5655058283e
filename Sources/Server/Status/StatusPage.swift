import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison

/// The status page of a running server, which loads nothing. Its script refreshes it.
struct StatusPage {
    /// The value of `Content-Security-Policy`.
    static let policy = ContentPolicy.text(script: script, connects: true)
    /// The script without the line feed at its end. It replaces the contents with those of the current page. What is
    /// open, focused or selected, and the scroll position, stay.
    private static let script = Array(PackageResources.status_js.dropLast())

    let snapshot: StatusSnapshot

    init(_ snapshot: StatusSnapshot) { self.snapshot = snapshot }

    var page: ReportPage {
        var page = ReportPage(
            title: "Receipt Bridge: \(snapshot.phase.words)", skip: ("#apps", "To the apps"),
            product: "Receipt Bridge \(snapshot.version) · status · \(snapshot.createdAt.displayText)",
            heading: "\(snapshot.phase.words)",
            main: warnings + [apps, sources, upstream, budgets, notifications, process])
        page.header = [.paragraph("\(sentence)", "standing \(snapshot.phase == .ready ? "done" : "open")")] + lastHour
        page.links = [
            ("/comparisons", "Comparisons"), ("/customers", "Customers"), ("/metrics", "Metrics"),
            ("/openapi.json", "OpenAPI"),
        ]
        page.footer = [
            """
            Other counts than those of the last hour are since the start of the process. This page contains no \
            receipts, no transactions and no secrets.
            """
        ]
        (page.policy, page.script, page.style) = (Self.policy, Self.script, PackageResources.status_css)
        return page
    }

    // MARK: - Top

    private var sentence: String {
        let answered =
            snapshot.verdicts == 1 ? "One receipt was answered" : "\(snapshot.verdicts.grouped) receipts were answered"
        let warnings =
            switch snapshot.warnings.count {
            case 0: "There are no warnings."
            case 1: "There is one warning."
            default: "There are \(snapshot.warnings.count) warnings."
            }
        return "Up for \(snapshot.uptime.displayText). \(answered) since then. \(warnings)"
    }

    /// The figures of the last hour, those since the start below them if that is longer ago, and a bar for every five
    /// minutes.
    private var lastHour: [ReportBlock] {
        let (hour, all) = (snapshot.trend.total, snapshot.total)
        let isLonger = hour.age < all.age
        func tile(_ name: String, _ value: (TrafficSample) -> String) -> (name: String, value: String, note: String?) {
            (name, value(hour), isLonger ? "\(value(all)) since the start" : nil)
        }
        return [
            .paragraph(isLonger ? "In the last hour" : "Since the start, \(all.age.displayText) ago", "span"),
            .tiles([
                tile("receipts answered") { $0.answered.grouped },
                tile("genuine (0, 21006)") { $0.genuine.part(of: $0.answered) },
                tile("rejected (21002, 21003)") { $0.rejected.part(of: $0.answered) },
                tile("temporary errors (to be retried)") { $0.retried.part(of: $0.answered) },
                tile("notifications accepted") { $0.notifications.grouped },
            ]),
        ] + trend
    }

    private var trend: [ReportBlock] {
        let steps = snapshot.trend.steps
        guard let most = steps.map(\.answered).max(), most > 0 else { return [] }
        let height: Int64 = 40
        let bars = steps.enumerated().flatMap { index, step in
            [("answered", step.answered), ("retried", step.retried)].filter { $0.1 > 0 }.map { style, count in
                let length = max(1, count * height / most)
                return Drawing.Shape.rectangle(
                    style, x: index * 20 + 2, y: height - length, width: 16, height: Int(length))
            }
        }
        let counts = steps.map(\.answered.grouped).joined(separator: ", ")
        let drawing = Drawing(
            [
                "viewBox": "0 0 \(steps.count * 20) \(height)", "role": "img",
                "aria-label": "Responses in steps of five minutes, the last one now: \(counts)",
            ], bars)
        let rest = snapshot.trend.total.retried > 0 ? "; the lower part of a bar is to be retried." : "."
        let caption: Words = "Responses, five minutes a bar, \(most.grouped) at most\(rest)"
        return [.group("trend", [.drawing(drawing), .group([:], [.words(caption)], as: "figcaption")], as: "figure")]
    }

    private var warnings: [ReportBlock] {
        guard !snapshot.warnings.isEmpty else { return [] }
        let blocks = Self.folding(snapshot.warnings, "more warnings") { warnings in
            .list(
                of: warnings.map { warning in
                    "\(sign: "▲", "mark")\(outside: warning.detail, limit: 500)\(code: "\(warning.code.rawValue)")"
                })
        }
        return [.section(id: "warnings", "Warnings", blocks, "warnings")]
    }

    // MARK: - Folded lists

    /// Number of entries that are shown; further entries are folded away.
    static let maximumOpen = 8

    /// Returns the first entries, and below them a folded list of the others.
    ///
    /// - Parameter others: The noun of the summary, for example `more warnings`.
    static func folding<Entry>(
        _ entries: [Entry], _ others: String, _ block: (ArraySlice<Entry>) -> ReportBlock
    ) -> [ReportBlock] {
        (entries.isEmpty ? [] : [block(entries.prefix(maximumOpen))])
            + fold(entries.dropFirst(maximumOpen), others) { [block($0)] }
    }

    /// Returns all entries below a summary, which is their number and `name`; nothing if the list is empty.
    static func fold<Entry>(
        _ entries: ArraySlice<Entry>, _ name: String, _ blocks: (ArraySlice<Entry>) -> [ReportBlock]
    ) -> [ReportBlock] {
        entries.isEmpty ? [] : [.details("\(Int64(entries.count).grouped) \(name)", blocks(entries))]
    }
}

extension LifecycleState.Phase {
    fileprivate var words: String {
        switch self {
        case .starting: "Starting"
        case .ready: "Ready"
        case .draining: "Shutting down"
        }
    }
}
