import ReceiptBridgeBase
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeStorage

extension ComparisonSummary {
    /// The outcomes that the store counts in addition to the codes of failures.
    fileprivate static let equalOutcome = "equal"
    fileprivate static let differentOutcome = "different"

    /// Converts the results to rows of the store, all of them for one day.
    func rows(on day: Int64) -> ShadowRows {
        var comparisons: [ComparisonCount] = []
        for (scope, app) in apps {
            var counts = app.failures
            counts[Self.equalOutcome] = app.equal
            counts[Self.differentOutcome] = app.compared - app.equal
            for (outcome, count) in counts where count > 0 {
                comparisons.append(
                    ComparisonCount(
                        day: day, bundleId: scope.bundleId, environment: scope.environment, outcome: outcome,
                        count: count))
            }
        }
        let encoder = JSONEncoder()
        let differences = entries.values.map { entry in
            DifferenceCount(
                day: day, bundleId: entry.scope.bundleId, environment: entry.scope.environment,
                verdict: entry.verdict.rawValue, rule: entry.rule, path: entry.path, count: entry.count,
                first: entry.firstSeen?.milliseconds ?? 0, last: entry.lastSeen?.milliseconds ?? 0,
                examples: entry.examples.compactMap { (try? encoder.encode($0)).map { [UInt8]($0) } })
        }
        let customers = apps.keys.map { scope in
            ComparedCustomers(
                day: day, bundleId: scope.bundleId, environment: scope.environment,
                digests: self.customers(of: scope).sorted)
        }
        return ShadowRows(comparisons: comparisons, differences: differences, customers: customers)
    }
}

struct ShadowRows: Sendable {
    let comparisons: [ComparisonCount]
    let differences: [DifferenceCount]
    let customers: [ComparedCustomers]
}

extension ComparisonReport {
    init(
        comparisons: [ComparisonCount], differences: [DifferenceCount], customers: [Scope: Int64], title: String,
        madeAt: Timestamp
    ) {
        self.init(kind: .shadow, title: title, madeAt: madeAt)
        var apps: [Scope: App] = [:]
        for row in comparisons {
            let scope = Scope(bundleId: row.bundleId, environment: row.environment)
            var app = apps[scope] ?? App(scope: scope)
            switch row.outcome {
            case ComparisonSummary.equalOutcome:
                app.compared += row.count
                app.equal += row.count
            case ComparisonSummary.differentOutcome: app.compared += row.count
            default: app.failures[row.outcome, default: 0] += row.count
            }
            apps[scope] = app
        }
        for (scope, count) in customers { apps[scope]?.customers = count }
        self.apps = apps.values.sorted { $0.scope < $1.scope }
        // Our responses are rendered from version 2 of Get Transaction History.
        let compared = self.apps.reduce(0) { $0 + $1.compared }
        if compared > 0 { historyVersions[2] = compared }
        entries = Self.entries(differences)
    }

    private static func entries(_ differences: [DifferenceCount]) -> [Entry] {
        let decoder = JSONDecoder()
        let groups = Dictionary(grouping: differences) {
            [$0.bundleId, $0.environment, $0.verdict, $0.rule, $0.path]
        }
        let entries = groups.values.map { rows in
            let row = rows[0]
            return Entry(
                scope: Scope(bundleId: row.bundleId, environment: row.environment),
                verdict: ComparisonRule.Class(rawValue: row.verdict) ?? .unexpected, rule: row.rule, path: row.path,
                count: rows.reduce(0) { $0 + $1.count },
                firstSeen: rows.map { Timestamp(milliseconds: $0.first) }.min(),
                lastSeen: rows.map { Timestamp(milliseconds: $0.last) }.max(),
                examples: Array(
                    rows.lazy.flatMap(\.examples).compactMap { try? decoder.decode(Difference.self, from: Data($0)) }
                        .prefix(ComparisonSummary.maximumExamples)))
        }
        return Entry.listed(entries)
    }
}
