import Comparison
import Batch
import Reports

/// The summary at the end of a comparison: counts, the most frequent differences, and whether it is safe to switch.
enum ComparisonTable {
    /// Number of entries that are printed; the report contains all.
    private static let maximumEntries = 20

    /// Returns the summary: an aligned table, then a sentence about readiness for each app.
    static func text(_ result: ComparisonRun.RunResult) -> String {
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
        // Adds up the entries of all apps; the report lists each app separately.
        var indexes: [String: Int] = [:]
        var entries: [(name: String, count: Int64)] = []
        for entry in result.report.entries {
            let name = "\(entry.verdict.rawValue) \(entry.rule) \(PrintableText.text(of: entry.path))"
            if let index = indexes[name] {
                entries[index].count += entry.count
            } else {
                indexes[name] = entries.count
                entries.append((name, entry.count))
            }
        }
        lines += entries.prefix(maximumEntries).map { ($0.name, $0.count) }
        let width = lines.map(\.0.count).max() ?? 0
        let numbers = lines.map(\.1.grouped.count).max() ?? 0
        let table = lines.map { name, number in
            let text = number.grouped
            return name + String(repeating: " ", count: width - name.count + 2 + numbers - text.count) + text + "\n"
        }
        let sentences = [Readiness](result.report).map { PrintableText.text(of: $0.sentence) + "\n" }
        return table.joined() + sentences.joined()
    }
}
