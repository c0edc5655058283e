package import StoreTypes

/// What comparisons came to: the same for a run over stored receipts and for what the server compared in the shadow.
package struct ComparisonReport: Sendable {
    /// Where the comparisons come from.
    package enum Kind: String, Sendable {
        /// `compare`
        case run
        /// `GET /comparisons`
        case shadow
    }

    /// One app in one environment.
    package struct Scope: Sendable, Hashable, Comparable, Codable {
        /// Empty where neither side names one.
        package let bundleId: String
        /// `Production`, `Sandbox`; empty where neither side names one.
        package let environment: String

        package init(bundleId: String, environment: String) {
            self.bundleId = bundleId
            self.environment = environment
        }

        /// Neither side names an app.
        var isUnnamed: Bool { bundleId.isEmpty }

        /// What names no app comes last.
        package static func < (one: Scope, other: Scope) -> Bool {
            (one.isUnnamed ? 1 : 0, one.bundleId, one.environment)
                < (other.isUnnamed ? 1 : 0, other.bundleId, other.environment)
        }
    }

    /// What was compared of one app in one environment.
    package struct App: Sendable, Codable {
        package var scope: Scope
        /// Receipts with an answer on both sides.
        package var compared: Int64 = 0
        /// Those of them without an unexpected difference.
        package var equal: Int64 = 0
        /// Of the compared ones, those with a recording that has no history, or no statuses, to compare all with.
        package var partial: Int64 = 0
        /// Receipts that could not be compared, by the code of the reason.
        package var failures: [String: Int64] = [:]
        /// Of the compared ones, those without an answer made of the records; nil for none.
        package var recordsOnly: Int64?
        /// Different customers that the compared receipts are of, at most ``CustomerSet/maximum``; counted for a report.
        package var customers: Int64 = 0

        package init(scope: Scope) {
            self.scope = scope
        }

        private enum CodingKeys: CodingKey { case scope, compared, equal, partial, failures, recordsOnly }
    }

    /// Differences of one app that are counted together.
    package struct Entry: Sendable, Codable {
        package var scope: Scope
        package var verdict: ComparisonRule.Class
        /// A rule's name, see ``ComparisonRules``.
        package var rule: String
        /// Without ids.
        package var path: String
        package var count: Int64
        package var firstSeen: Timestamp?
        package var lastSeen: Timestamp?
        /// A few that show it.
        package var examples: [Difference] = []

        package init(
            scope: Scope, verdict: ComparisonRule.Class, rule: String, path: String, count: Int64,
            firstSeen: Timestamp? = nil, lastSeen: Timestamp? = nil, examples: [Difference] = []
        ) {
            self.scope = scope
            self.verdict = verdict
            self.rule = rule
            self.path = path
            self.count = count
            self.firstSeen = firstSeen
            self.lastSeen = lastSeen
            self.examples = examples
        }
    }

    package var kind: Kind
    /// The source that was compared, or the server's own name.
    package var title: String
    package var madeAt: Timestamp
    /// Ascending.
    package var apps: [App] = []
    /// Unexpected ones first, the most frequent first.
    package var entries: [Entry] = []
    /// Both documents of a few receipts, with what differs marked; from memory only, never from the store.
    package var pairs: [AlignedPair] = []
    /// Comparisons against Get Transaction History of each version, 1 or 2.
    package var historyVersions: [Int: Int64] = [:]
    /// Comparisons with a side that nobody's signature vouches for.
    package var unverified: Int64 = 0
    /// What is not in the report, a sentence each: dropped comparisons, entries beyond the limit, an unfinished run.
    package var notes: [String] = []

    package init(kind: Kind, title: String, madeAt: Timestamp) {
        self.kind = kind
        self.title = title
        self.madeAt = madeAt
    }
}
