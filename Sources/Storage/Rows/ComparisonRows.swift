/// Number of comparisons of one day, app, environment and outcome.
package struct ComparisonCount: Sendable, Hashable {
    /// Days since 1970-01-01, UTC.
    package var day: Int64
    package var bundleId: String
    package var environment: String
    /// `equal`, `different`, or the reason why there was no comparison.
    package var outcome: String
    package var count: Int64

    package init(day: Int64, bundleId: String, environment: String, outcome: String, count: Int64) {
        (self.day, self.bundleId, self.environment) = (day, bundleId, environment)
        (self.outcome, self.count) = (outcome, count)
    }
}

/// Number of differences of one day with the same class, rule and path.
package struct DifferenceCount: Sendable, Hashable {
    package var day: Int64
    package var bundleId: String
    package var environment: String
    /// `expected` or `unexpected`.
    package var verdict: String
    package var rule: String
    package var path: String
    package var count: Int64
    /// First occurrence, in milliseconds since 1970.
    package var first: Int64
    /// Last occurrence, in milliseconds since 1970.
    package var last: Int64
    /// A few examples, in the encoding of the caller; never a receipt.
    package var examples: [[UInt8]]

    package init(
        day: Int64, bundleId: String, environment: String, verdict: String, rule: String, path: String, count: Int64,
        first: Int64, last: Int64, examples: [[UInt8]]
    ) {
        (self.day, self.bundleId, self.environment, self.verdict) = (day, bundleId, environment, verdict)
        (self.rule, self.path, self.count, self.first) = (rule, path, count, first)
        (self.last, self.examples) = (last, examples)
    }
}

/// Compared customers of one day, app and environment.
package struct ComparedCustomers: Sendable, Hashable {
    /// Days since 1970-01-01, UTC.
    package var day: Int64
    package var bundleId: String
    package var environment: String
    /// Short digests of original transaction ids, or of receipts without any: see `SHA.short`.
    package var digests: [Int64]
    /// The block of the rollout in which they were compared; `nil` for none.
    package var block: String?
    /// Those of a rollout with an unexpected difference.
    package var different: Set<Int64>

    package init(
        day: Int64, bundleId: String, environment: String, digests: [Int64], block: String? = nil,
        different: Set<Int64> = []
    ) {
        (self.day, self.bundleId, self.environment) = (day, bundleId, environment)
        (self.digests, self.block, self.different) = (digests, block, different)
    }
}
