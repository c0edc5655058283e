import ReceiptBridgeStorage
import ReceiptBridgeBase

/// The page of a report. Its script only filters.
package struct ComparisonPage {
    /// Limits on what a page shows. The JSON report has everything except the pairs. A report contains at most as
    /// many pairs as `--pairs` requests; this is the highest value that `--pairs` accepts.
    package static let (maximumApps, maximumEntries, maximumPairs) = (100, 2_000, 1_000)
    /// `Content-Security-Policy` header for servers that serve the page.
    package static let policy = ContentPolicy.text(script: script)
    /// The script without the line feed at its end. It loads nothing and writes text only, never markup.
    private static let script = Array(PackageResources.comparison_js.dropLast())

    let report: ComparisonReport
    let readiness: [Readiness]

    package init(_ report: ComparisonReport) {
        self.report = report
        readiness = [Readiness](report)
    }

    package var page: ReportPage {
        let kind = report.kind == .run ? "comparison" : "shadow comparison"
        var page = ReportPage(
            title: "Comparison of \(report.title.shortened)", skip: ("#differences", "To the differences"),
            product: "Receipt Bridge · \(kind) · \(report.madeAt.displayText)", heading: "\(outside: report.title)",
            main: [apps, differences] + failures + [.onPage([sideBySide]), basis])
        page.header = header
        page.footer = [
            """
            Written by Receipt Bridge. This page contains no receipts, but transaction ids and values of their \
            fields: protect it accordingly.
            """
        ]
        (page.policy, page.script, page.style) = (Self.policy, Self.script, PackageResources.comparison_css)
        return page
    }

    private var header: [ReportBlock] {
        let deciding = (readiness.filter(\.decides) + readiness.filter { !$0.decides }).prefix(Self.maximumApps)
        var blocks: [ReportBlock] =
            readiness.isEmpty
            ? [.paragraph("No receipt was compared.", "summary")] : [.verdicts(deciding.map(\.asVerdict))]
        if readiness.count > Self.maximumApps { blocks.append(more(readiness.count - Self.maximumApps)) }
        blocks += report.rollouts.prefix(Self.maximumApps).map(\.paragraph)
        let compared = readiness.reduce(0) { $0 + $1.app.compared }
        let different = readiness.reduce(0) { $0 + $1.different }
        let tiles = [
            ("receipts compared", compared.grouped),
            ("customers", readiness.reduce(0) { $0 + $1.app.customers }.grouped),
            ("would get the same answer", (compared - different).share(of: compared)),
            ("receipts differ unexpectedly", different.grouped),
            ("unexpected differences", count(.unexpected).grouped), ("expected differences", count(.expected).grouped),
            ("receipts not compared", readiness.reduce(0) { $0 + $1.failed }.grouped),
        ]
        return blocks + [.tiles(tiles.map { ($0.0, $0.1, nil) })]
    }

    private func count(_ verdict: ComparisonRule.Class) -> Int64 {
        report.entries.reduce(0) { $0 + ($1.verdict == verdict ? $1.count : 0) }
    }

    func more(_ count: Int) -> ReportBlock { .note("\(Int64(count).grouped) more in the report as JSON.") }

    // MARK: - Counts

    private var apps: ReportBlock {
        guard !readiness.isEmpty else {
            return .section(id: "apps", "Apps", [.paragraph("No receipt was compared.")])
        }
        let tallies = report.entries.reduce(into: [:] as [ComparisonReport.Scope: [ComparisonRule.Class: Int64]]) {
            $0[$1.scope, default: [:]][$1.verdict, default: 0] += $1.count
        }
        let largest = tallies.values.map { $0.values.reduce(0, +) }.max() ?? 0
        let table = ReportTable(
            "Compared receipts of each app. With 95 % confidence, the share that would differ is at most the upper bound",
            of: readiness.prefix(Self.maximumApps),
            [
                .rowHeader("App") {
                    "\(path: $0.app.scope.app) \(span: "\(outside: $0.app.scope.environmentText)", "place")"
                },
                .number("Compared") { $0.app.compared.grouped },
                .number("Customers") { $0.customerCount },
                .number("Same answer") { "\($0.app.equal.grouped) (\($0.app.equal.share(of: $0.app.compared)))" },
                .number("Upper bound") { $0.boundWords },
                .number("Not compared") { $0.failed.grouped },
                .cell("Differences") { Self.differences(tallies[$0.app.scope] ?? [:], of: largest) },
            ])
        return .section(id: "apps", "Apps", [.table(table)])
    }

    private static func differences(_ counts: [ComparisonRule.Class: Int64], of largest: Int64) -> Words {
        let entries = [ComparisonRule.Class.unexpected, .expected].map { verdict in
            ReportEntry(
                verdict.rawValue, count: counts[verdict] ?? 0, style: verdict == .unexpected ? "refused" : "decoded")
        }
        let text = entries.map { "\($0.count.grouped) \($0.name)" }.joined(separator: ", ")
        let words: Words = "\(span: "\(text)", "words")"
        return largest > 0 ? "\(Drawing.segments(entries, of: largest, titled: text))\(words)" : words
    }

    private var failures: [ReportBlock] {
        let failures = readiness.reduce(into: [:] as [String: Int64]) { failures, readiness in
            for (code, count) in readiness.app.failures { failures[code.shortened, default: 0] += count }
        }
        guard !failures.isEmpty else { return [] }
        return [
            .counts(
                id: "failures", title: "Not compared",
                caption: "Reasons why receipts could not be compared, with their share", column: "Reason",
                entries: [ReportEntry](failures, style: "notFound"),
                whole: readiness.reduce(0) { $0 + $1.app.compared + $1.failed }, number: "Receipts",
                none: "Every receipt was compared.")
        ]
    }

    private var basis: ReportBlock {
        let words = report.facts.map { "\($0)" as Words } + report.notes.map { "\(outside: $0, limit: 2_000)" }
        return .section(
            id: "basis", "Basis of the numbers",
            [words.isEmpty ? .paragraph("No comparison was made.") : .list(of: words, "basis")])
    }
}

extension Readiness {
    /// The decision with a sign that tells it without color: a check mark in a circle, an exclamation mark in a
    /// triangle, a cross in an octagon, an `i` for information.
    fileprivate var asVerdict: ReportBlock.Verdict {
        let (shape, mark) =
            switch verdict {
            case _ where !decides: ("M12 1a11 11 0 1 0 0 22a11 11 0 1 0 0-22z", "M12 6.4v1.4M12 11v7")
            case .safe: ("M12 1a11 11 0 1 0 0 22a11 11 0 1 0 0-22z", "M6.5 12.5l3.8 3.8l7.2-8.2")
            case .notYet: ("M12 1.5L23.5 22H.5z", "M12 9v6M12 17.6v1.4")
            case .notSafe: ("M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4z", "M8 8l8 8M16 8l-8 8")
            }
        let sign = Drawing(
            ["viewBox": "0 0 24 24", "width": "28", "height": "28", "aria-hidden": "true"],
            [.init("path", ["class": "shape", "d": shape]), .init("path", ["class": "mark", "d": mark])])
        return .init(style: style, sign: sign, decision: decision, subject: app.scope.displayText, reasons: statement)
    }
}

extension RolloutReport {
    package var paragraph: ReportBlock {
        let title = phase == .stopped ? "▲ Gradual switch stopped." : "Gradual switch."
        return .paragraph("\(strong: "\(title)") \(path: bundleId): \(sentence)", "rollout \(phase.rawValue)")
    }
}

extension ComparisonRule.Class {
    /// Symbol next to the word, so that the class does not depend on color.
    var symbol: String {
        switch self {
        case .unexpected: "×"
        case .expected: "≈"
        case .records: "·"
        }
    }

    /// The class as a symbol and a word.
    var badge: Words { "\(badge: rawValue, sign: symbol, rawValue)" }
}
