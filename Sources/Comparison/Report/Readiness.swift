import Foundation
import Reports

/// Whether one app can be switched to the App Store Server API: the sentence that a team decides on, and what it rests
/// on.
package struct Readiness: Sendable {
    /// What to do.
    package enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// Enough was compared, and nothing worries.
        case safe
        /// Nothing worries, but too little was compared.
        case notYet
        /// Some receipts would get another answer.
        case notSafe
    }

    /// Different customers without which nothing is said: fewer than one in a hundred would get another answer then.
    /// A choice. Receipts of one customer are no evidence of others.
    package static let minimumCustomers: Int64 = 300
    /// The share of receipts that may remain without a comparison, and of those that were compared in part only. A choice.
    package static let toleratedFailures = 0.01

    package let app: ComparisonReport.App
    /// Unexpected differences by rule, the most frequent first.
    package let rules: [(name: String, count: Int64)]
    /// Expected differences by rule, the most frequent first.
    package let expectedRules: [(name: String, count: Int64)]

    /// - Parameter entries: the report's; those of other apps do not count.
    package init(_ app: ComparisonReport.App, entries: [ComparisonReport.Entry]) {
        self.app = app
        func counts(of verdict: ComparisonRule.Class) -> [(name: String, count: Int64)] {
            var found: [String: Int64] = [:]
            for entry in entries where entry.scope == app.scope && entry.verdict == verdict {
                found[entry.rule, default: 0] += entry.count
            }
            return found.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
        }
        rules = counts(of: .unexpected)
        expectedRules = counts(of: .expected)
    }

    package var different: Int64 { max(app.compared - app.equal, 0) }
    package var failed: Int64 { app.failures.values.reduce(0, +) }

    /// Of the compared receipts, those that would get the same answer; nil where none was compared.
    package var share: Double? {
        app.compared > 0 ? Double(app.compared - different) / Double(app.compared) : nil
    }

    /// With 95 % confidence no larger share of all customers would get another answer: 3/n where none of n did, else the
    /// upper end of Wilson's interval; nil where none was compared. n is the number of customers: more receipts of the same
    /// customer make nothing surer.
    ///
    /// What was compared in part is no evidence of that.
    ///
    /// https://en.wikipedia.org/wiki/Rule_of_three_(statistics)
    /// https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Wilson_score_interval
    package var upperBound: Double? {
        let whole = max(app.compared - app.partial, different)
        guard whole > 0, app.customers > 0 else { return nil }
        let n = Double(min(whole, app.customers))
        guard different > 0 else { return min(3 / n, 1) }
        let (z, share) = (1.959_964, Double(different) / Double(whole))
        let middle = share + z * z / (2 * n)
        let half = z * (share * (1 - share) / n + z * z / (4 * n * n)).squareRoot()
        return min((middle + half) / (1 + z * z / n), 1)
    }

    /// Receipts that could not be compared are too many of all.
    package var hasTooManyFailures: Bool {
        failed > 0 && Double(failed) > Self.toleratedFailures * Double(failed + app.compared)
    }

    /// Receipts of which not all was compared are too many of those that were.
    package var isTooPartial: Bool { Double(app.partial) > Self.toleratedFailures * Double(app.compared) }

    package var verdict: Verdict {
        if different > 0 { return .notSafe }
        return app.customers < Self.minimumCustomers || hasTooManyFailures || isTooPartial ? .notYet : .safe
    }
}

extension [Readiness] {
    /// In the order of the report's apps.
    package init(_ report: ComparisonReport) {
        let entries = Dictionary(grouping: report.entries, by: \.scope)
        self = report.apps.map { Readiness($0, entries: entries[$0.scope] ?? []) }
    }
}
