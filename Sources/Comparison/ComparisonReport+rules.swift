/// The differences of a report, grouped by rule.
extension ComparisonReport {
    package var rules: [RuleGroup] { RuleGroup.list(entries) }

    /// All entries with the same rule and class, from all apps.
    package struct RuleGroup: Sendable {
        package let verdict: ComparisonRule.Class
        package let rule: String
        /// The entries, in the order of the report.
        package let entries: [Entry]
        package let count: Int64

        private init?(_ entries: [Entry]) {
            guard let first = entries.first else { return nil }
            (verdict, rule, self.entries) = (first.verdict, first.rule, entries)
            count = entries.reduce(0) { $0 + $1.count }
        }

        /// Returns the groups by class, unexpected ones first, then by descending count.
        package static func list(_ entries: some Sequence<Entry>) -> [RuleGroup] {
            Dictionary(grouping: entries) { [$0.verdict.rawValue, $0.rule] }.values.compactMap(RuleGroup.init)
                .sorted { one, other in
                    if one.verdict != other.verdict { return one.verdict < other.verdict }
                    return (other.count, one.rule) < (one.count, other.rule)
                }
        }

        /// Whether a client may notice the differences.
        package var isNoticeable: Bool { verdict != .records && ComparisonRules.named[rule]?.isNoticeable != false }

        /// Number of differences of each app and environment, in their order.
        package var apps: [(scope: Scope, count: Int64)] {
            entries.reduce(into: [:]) { $0[$1.scope, default: 0] += $1.count }.sorted { $0.key < $1.key }
                .map { ($0.key, $0.value) }
        }

        /// Number of differences at each path, the most frequent first.
        package var paths: [(path: String, count: Int64)] {
            entries.reduce(into: [:]) { $0[$1.path, default: 0] += $1.count }
                .sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
        }
    }
}
