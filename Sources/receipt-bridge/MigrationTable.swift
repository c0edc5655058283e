import Ledger
import Migration
import Reports

/// The summary at the end of a migration, and the estimate of `--plan`.
enum MigrationTable {
    static func text(_ result: Migration.RunResult) -> String {
        var lines: [(String, String)] = []
        func add(_ name: String, _ value: Int64) { lines.append((name, value.grouped)) }
        for outcome in Outcome.allCases where result.counts.count(of: outcome) > 0 {
            add(outcome.rawValue, result.counts.count(of: outcome))
        }
        add("rows", result.counts.rows)
        if result.counts.renamedIds > 0 { add("ids made unique", result.counts.renamedIds) }
        if let customers = result.customers {
            add("customers", customers.all)
            add("calls", result.history.calls)
        }
        for (reason, count) in result.counts.reasons.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            add("  \(reason)", count)
        }
        let width = lines.map(\.0.count).max() ?? 0
        let numbers = lines.map(\.1.count).max() ?? 0
        return lines.map { name, number in
            name + String(repeating: " ", count: width - name.count + 2 + numbers - number.count) + number + "\n"
        }.joined()
    }

    /// Returns the estimated cost of a run. Each customer needs one call for the history and one for the statuses.
    /// Long histories need more, and fewer are needed if a history shows that two customers are the same.
    static func plan(_ result: Migration.RunResult, callsPerHour: Double) -> String {
        let customers = result.customers?.waiting ?? 0
        // The first hour's calls can be made at once, because the token bucket starts full.
        let hours = max(0, Double(customers) - callsPerHour) / callsPerHour
        return """
            rows       \(result.counts.rows.grouped)
            customers  \(customers.grouped)
            calls      about \((customers * 2).grouped)
            hours      \(String(Int(hours))).\(Int(hours * 10) % 10) by the hourly limits, plus the time of the calls themselves
            """
    }
}
