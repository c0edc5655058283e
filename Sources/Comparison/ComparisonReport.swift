package import ReceiptBridgeBase

/// The results of many comparisons. The format is the same for a run over stored receipts and for the server's shadow
/// comparisons.
package struct ComparisonReport: Sendable {
    package enum Kind: String, Sendable {
        /// A run of the `compare` command.
        case run
        /// The server's shadow comparisons, `GET /comparisons`.
        case shadow
    }

    /// One app in one environment.
    package struct Scope: Sendable, Hashable, Comparable, Codable {
        /// Bundle id; empty if neither side has one.
        package let bundleId: String
        /// `Production` or `Sandbox`; empty if neither side has one.
        package let environment: String

        package init(bundleId: String, environment: String) {
            self.bundleId = bundleId
            self.environment = environment
        }

        package var isUnnamed: Bool { bundleId.isEmpty }

        /// Orders by bundle id and environment. A scope without bundle id comes last.
        package static func < (one: Scope, other: Scope) -> Bool {
            (one.isUnnamed ? 1 : 0, one.bundleId, one.environment)
                < (other.isUnnamed ? 1 : 0, other.bundleId, other.environment)
        }
    }

    /// Counts of one app in one environment.
    package struct App: Sendable, Codable {
        package var scope: Scope
        /// Number of receipts with data on both sides.
        package var compared: Int64 = 0
        /// Number of compared receipts without an unexpected difference.
        package var equal: Int64 = 0
        /// Compared receipts whose recording has no history or no statuses, so that only a part was compared.
        package var partial: Int64 = 0
        /// Number of receipts that could not be compared, by error code.
        package var failures: [String: Int64] = [:]
        /// Compared receipts for which no response could be rendered from the records.
        package var recordsOnly: Int64?
        /// Distinct customers of the compared receipts, at most ``CustomerSet/maximum``. Set only in a report.
        package var customers: Int64 = 0

        /// Creates counts of zero.
        package init(scope: Scope) { self.scope = scope }

        /// `customers` is omitted: it is computed for a report and not stored in progress files.
        private enum CodingKeys: CodingKey { case scope, compared, equal, partial, failures, recordsOnly }
    }

    /// Differences of one app that are counted together.
    package struct Entry: Sendable, Codable {
        package var scope: Scope
        package var verdict: ComparisonRule.Class
        package var rule: String
        /// Path without row ids.
        package var path: String
        package var count: Int64
        /// Time of the first comparison with this difference; `nil` if it was not recorded.
        package var firstSeen: Timestamp?
        package var lastSeen: Timestamp?
        package var examples: [Difference] = []

        package init(
            scope: Scope, verdict: ComparisonRule.Class, rule: String, path: String, count: Int64,
            firstSeen: Timestamp? = nil, lastSeen: Timestamp? = nil, examples: [Difference] = []
        ) {
            (self.scope, self.verdict, self.rule, self.path) = (scope, verdict, rule, path)
            (self.count, self.firstSeen, self.lastSeen, self.examples) = (count, firstSeen, lastSeen, examples)
        }
    }

    package var kind: Kind
    /// Name of the source that was compared, or name of the server.
    package var title: String
    package var madeAt: Timestamp
    /// Counts by app, in ascending order.
    package var apps: [App] = []
    /// Entries, unexpected ones first, then by descending count.
    package var entries: [Entry] = []
    /// Both documents of a few receipts, with the differences marked. They are in memory only, never in the store.
    package var pairs: [AlignedPair] = []
    /// The gradual switches of apps, in ascending order. Only the server has them.
    package var rollouts: [RolloutReport] = []
    package var historyVersions: [Int: Int64] = [:]
    package var unverified: Int64 = 0
    /// Notes on data that the report does not include, one sentence each. For example, dropped comparisons, entries
    /// beyond the limit, or an unfinished run.
    package var notes: [String] = []

    package init(kind: Kind, title: String, madeAt: Timestamp) {
        (self.kind, self.title, self.madeAt) = (kind, title, madeAt)
    }
}
