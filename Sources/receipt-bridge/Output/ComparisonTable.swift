import ReceiptBridgeBatch
import ReceiptBridgeComparison
import ReceiptBridgeBase
import ReceiptBridgeCore

/// The summary at the end of a comparison: the decisions, counts, and differences by rule.
enum ComparisonTable {
    /// Number of rules that are printed; the report contains all.
    private static let maximumRules = 20

    /// Returns the summary: the decision for each app, then an aligned table with the differences by rule.
    static func text(_ result: ComparisonRun.ComparisonEnding) -> String {
        var lines = [
            ("rows", result.rows), ("compared", result.compared),
            ("customers", result.report.apps.reduce(0) { $0 + $1.customers }),
            ("differ unexpectedly", result.unexpected),
            ("not compared", result.failed),
        ]
        var failures: [String: Int64] = [:]
        for app in result.report.apps { failures.merge(app.failures, uniquingKeysWith: +) }
        lines += failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ("  \($0.key)", $0.value) }
        if result.calls > 0 { lines.append(("calls", result.calls)) }
        lines += result.report.rules.prefix(maximumRules).map {
            ("\($0.verdict.rawValue) \(PrintableText.text(of: $0.rule))", $0.count)
        }
        let table = Terminal.aligned(lines.map { ($0.0, $0.1.grouped) })
        let styles: [(String, TextStyle)] = [
            ("rows", .heading), ("differ unexpectedly", result.unexpected > 0 ? .bad : .good), ("unexpected", .bad),
            ("not compared", result.failed > 0 ? .warning : .dim), ("expected", .dim), ("records", .dim),
        ]
        let sentences = [Readiness](result.report).map { readiness in
            Terminal.style(PrintableText.text(of: readiness.sentence), as: style(readiness.verdict)) + "\n"
        }
        return sentences.joined() + Terminal.style(beginnings: styles, of: table)
    }

    private static func style(_ verdict: Readiness.ReadinessVerdict) -> TextStyle {
        switch verdict {
        case .safe: .good
        case .notYet: .warning
        case .notSafe: .bad
        }
    }
}

extension AppRegistry {
    /// Returns a sentence for each app whose rows were not looked up.
    func rowsWithoutKey(_ counts: [String: Int64]) -> [String] {
        counts.sorted { $0.key < $1.key }.map { name, count in
            let rows = "\(count.grouped) \(count == 1 ? "row" : "rows") of \(name)"
            guard let bundleId = BundleIdentifier(rawValue: name), configured(bundleId) != nil else {
                let reason = BundleIdentifier(rawValue: name).map { ": \(notice(of: $0))" } ?? ""
                return "\(rows) cannot be looked up\(reason)"
            }
            return !hasKey(bundleId)
                ? "\(rows) cannot be looked up: the app has no serverAPI in the configuration"
                : "\(rows) were not looked up, because the app had no key when they were read"
        }
    }
}
