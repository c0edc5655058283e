import Comparison
import ComparisonRun
import Reports

/// The summary at the end of a comparison: counts, the most frequent differences, and whether it is safe to switch.
enum ComparisonTable {
    /// Number of entries that are printed; the report contains all.
    private static let maximumEntries = 20

    static func text(_ ending: ComparisonRun.RunResult) -> String {
        var lines = [
            ("rows", ending.rows), ("compared", ending.compared),
            ("customers", ending.report.apps.reduce(0) { $0 + $1.customers }),
            ("differ unexpectedly", ending.unexpected),
            ("not compared", ending.failed),
        ]
        var failures: [String: Int64] = [:]
        for app in ending.report.apps { failures.merge(app.failures, uniquingKeysWith: +) }
        lines += failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ("  \($0.key)", $0.value) }
        if ending.calls > 0 { lines.append(("calls", ending.calls)) }
        // Adds up the entries of all apps; the report lists each app separately.
        var places: [String: Int] = [:]
        var entries: [(name: String, count: Int64)] = []
        for entry in ending.report.entries {
            let name = "\(entry.verdict.rawValue) \(entry.rule) \(PrintableText.text(of: entry.path))"
            if let place = places[name] {
                entries[place].count += entry.count
            } else {
                places[name] = entries.count
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
        let sentences = [Readiness](ending.report).map { PrintableText.text(of: $0.sentence) + "\n" }
        return table.joined() + sentences.joined()
    }
}
