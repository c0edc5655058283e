import ReceiptBridgeBase

/// The recommendation for one app: can it switch to the App Store Server API? Includes the numbers that it is based
/// on.
package struct Readiness: Sendable {
    package enum ReadinessVerdict: String, Sendable, Hashable, CaseIterable {
        /// Enough was compared, and there are no unexpected differences.
        case safe
        /// There are no unexpected differences, but too little was compared.
        case notYet
        /// Some receipts would get a different response.
        case notSafe
    }

    /// Minimum number of distinct customers for a recommendation. With 300 customers and no difference, fewer than 1
    /// % of customers would get a different response (95 % confidence). A design choice. Customers are counted
    /// because several receipts of one customer are not independent.
    package static let minimumCustomers: Int64 = 300
    /// Limit on the share of receipts that could not be compared, and of those that were compared only in part. A
    /// design choice.
    static let toleratedFailures = 0.01

    package let app: ComparisonReport.App
    /// Unexpected differences by rule, the most frequent first.
    package let rules: [(name: String, count: Int64)]
    package let expected: Int64
    /// Expected differences that a client may notice, by rule, the most frequent first.
    package let noticeable: [(name: String, count: Int64)]
    /// Settings that remove unexpected differences, with the name of the rule, as far as the examples show.
    package let settings: [(rule: String, setting: String)]

    /// - Parameter entries: Entries of other apps are ignored.
    package init(_ app: ComparisonReport.App, entries: [ComparisonReport.Entry]) {
        self.app = app
        let groups = ComparisonReport.RuleGroup.list(entries.filter { $0.scope == app.scope })
        rules = groups.filter { $0.verdict == .unexpected }.map { ($0.rule, $0.count) }
        let known = groups.filter { $0.verdict == .expected }
        expected = known.reduce(0) { $0 + $1.count }
        noticeable = known.filter(\.isNoticeable).map { ($0.rule, $0.count) }
        settings = groups.filter { $0.verdict == .unexpected }.flatMap { group in
            Set(group.entries.flatMap(\.examples).compactMap(\.setting)).sorted().map { (group.rule, $0) }
        }
    }

    /// The configuration with which an operator decides that unexpected differences do not matter, by rule.
    package var settlements: [(rule: String, setting: String)] {
        rules.compactMap { rule in ComparisonRules.named[rule.name]?.settlement.map { (rule.name, $0) } }
    }

    /// `true` if every unexpected difference is one that the configuration settles, so that the operator must decide.
    package var isOperatorsDecision: Bool { !rules.isEmpty && settlements.count == rules.count }

    /// `false` in the sandbox: its receipts inform, and do not hold back the switch, which is one of production.
    package var decides: Bool { app.scope.environment != AppStoreEnvironment.sandbox.rawValue }

    /// Number of compared receipts with an unexpected difference.
    package var different: Int64 { max(app.compared - app.equal, 0) }
    /// Number of receipts that could not be compared.
    package var failed: Int64 { app.failures.values.reduce(0, +) }

    /// Share of the compared receipts that would get the same response; `nil` if nothing was compared.
    package var share: Double? { app.compared > 0 ? Double(app.compared - different) / Double(app.compared) : nil }

    /// Upper bound of the share of all customers that would get a different response, with 95 % confidence; `nil` if
    /// nothing was compared.
    ///
    /// If none of n customers has a difference, the bound is 3/n. Otherwise it is the upper end of Wilson's interval.
    /// n is the number of customers, because more receipts of the same customer do not increase the confidence.
    /// Partial comparisons are excluded.
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

    package var hasTooManyFailures: Bool {
        failed > 0 && Double(failed) > Self.toleratedFailures * Double(failed + app.compared)
    }

    package var isTooPartial: Bool { Double(app.partial) > Self.toleratedFailures * Double(app.compared) }

    /// The recommendation. Any unexpected difference makes it ``ReadinessVerdict/notSafe``.
    package var verdict: ReadinessVerdict {
        if different > 0 { return .notSafe }
        return app.customers < Self.minimumCustomers || hasTooManyFailures || isTooPartial ? .notYet : .safe
    }
}

extension [Readiness] {
    /// Evaluates all apps of a report, in the report's order.
    package init(_ report: ComparisonReport) {
        let entries = Dictionary(grouping: report.entries, by: \.scope)
        self = report.apps.map { Readiness($0, entries: entries[$0.scope] ?? []) }
    }
}
