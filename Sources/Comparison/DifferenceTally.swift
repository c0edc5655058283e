/// Differences counted by class, rule and path: a million equal ones take as much memory as three.
package struct DifferenceTally: Sendable {
    /// What is counted together.
    package struct Key: Sendable, Hashable {
        package let verdict: ComparisonRule.Class
        package let rule: String
        /// Without ids.
        package let path: String
    }

    /// How often, and some that show it.
    package struct Entry: Sendable {
        package fileprivate(set) var count = 0
        /// The first few.
        package fileprivate(set) var examples: [Difference] = []
    }

    /// Examples of each.
    package static let maximumExamples = 3
    /// Different keys; foreign documents can name any number of properties.
    package static let maximumEntries = 1_000

    /// By class, rule and path.
    package private(set) var entries: [Key: Entry] = [:]
    /// Comparisons counted.
    package private(set) var comparisons = 0
    /// Comparisons without an unexpected difference.
    package private(set) var equal = 0
    /// Differences beyond ``maximumEntries``, which are counted under the path `…` of their rule.
    package private(set) var overflow = 0

    /// Nothing yet.
    package init() {}

    /// Counts the differences of one comparison.
    package mutating func add(_ differences: [Difference]) {
        comparisons += 1
        if !differences.contains(where: { $0.verdict == .unexpected }) { equal += 1 }
        for difference in differences {
            var key = Key(verdict: difference.verdict, rule: difference.rule, path: difference.path)
            if entries[key] == nil, entries.count >= Self.maximumEntries {
                overflow += 1
                key = Key(verdict: difference.verdict, rule: difference.rule, path: "…")
            }
            entries[key, default: Entry()].count += 1
            guard let examples = entries[key]?.examples, examples.count < Self.maximumExamples else { continue }
            entries[key]?.examples.append(difference)
        }
    }

    /// How many of a class there are.
    package func count(_ verdict: ComparisonRule.Class) -> Int {
        entries.reduce(0) { $0 + ($1.key.verdict == verdict ? $1.value.count : 0) }
    }
}
