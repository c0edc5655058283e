extension Readiness {
    /// Limit on the rules and failure reasons that the sentence lists. The tables contain all of them.
    private static let namedReasons = 5

    /// The result as text, the decision first. For example, `Switch: com.example.app, Production. All 12,345 receipts
    /// of 9,876 customers would get the same answer; …`
    ///
    /// The bundle id is untrusted text, so escape it for the output format.
    package var sentence: String { "\(decision): \(app.scope.displayText). \(statement)" }

    package var decision: String {
        guard decides else { return "For information" }
        if isOperatorsDecision { return "Decide about \(rules.map(\.name).joined(separator: ", "))" }
        return verdict == .safe ? "Switch" : "Do not switch yet"
    }

    /// CSS class of the result: the verdict, or `informs` if the decision does not depend on it.
    package var style: String { decides ? verdict.rawValue : "informs" }

    package var statement: String {
        [tooEarly, finding, remedies, settled, explained, halves, recordsOnly, leftOver].compactMap(\.self).joined(
            separator: " ")
    }

    private var finding: String {
        let compared = app.compared
        guard compared > 0 else { return "No receipt was compared." }
        guard different > 0 else {
            let all = compared == 1 ? "The one receipt" : "All \(compared.grouped) receipts\(ofCustomers)"
            guard app.partial == 0 else { return "\(all) would get the same answer, as far as it was recorded." }
            guard app.customers > 3 else { return "\(all) would get the same answer." }
            return "\(all) would get the same answer; with 95 % confidence fewer than 1 customer in "
                + "\((min(app.customers, compared) / 3).grouped) would get a different one."
        }
        let same = compared - different
        let receipts = compared == 1 ? "receipt" : "receipts\(ofCustomers)"
        return "\(same.grouped) of \(compared.grouped) \(receipts) (\(same.share(of: compared))) would get the same "
            + "answer; \(different.grouped) \(different == 1 ? "differs" : "differ") unexpectedly\(reasons)."
    }

    /// For example, ` of 1 customer` or ` of at least 10,000 customers`. Empty if the counts were written by a
    /// version that did not count customers.
    private var ofCustomers: String {
        guard app.customers > 0 else { return "" }
        return " of \(customerCount) \(app.customers == 1 ? "customer" : "customers")"
    }

    /// For example, `12`, or `at least 10,000` if the set of customers is full.
    var customerCount: String { (app.customers < CustomerSet.maximum ? "" : "at least ") + app.customers.grouped }

    private var remedies: String? {
        guard !settings.isEmpty else { return nil }
        return settings.map { "\($0.rule.shortened) disappears with \($0.setting)." }.joined(separator: " ")
    }

    /// Expected differences do not prevent that a receipt counts as the same; names those that a client may notice.
    private var explained: String? {
        guard expected > 0 else { return nil }
        let counted =
            expected == 1
            ? "1 difference is expected and counts as the same"
            : "\(expected.grouped) differences are expected and count as the same"
        guard !noticeable.isEmpty else { return "\(counted)." }
        let count = noticeable.reduce(0) { $0 + $1.count }
        let which = expected == 1 ? "it" : count == expected ? "them" : "\(count.grouped) of them"
        return "\(counted); a client may notice \(which): \(Self.list(noticeable, "more rule"))."
    }

    private var recordsOnly: String? {
        guard let count = app.recordsOnly, count > 0 else { return nil }
        let verb = count == 1 ? "was" : "were"
        return "\(count.grouped) \(verb) compared by the records alone, because no answer could be made from them."
    }

    /// Lists the rules. The number of differences is included if it is not the number of receipts, because one
    /// receipt can differ in several fields.
    private var reasons: String {
        guard !rules.isEmpty else { return "" }
        let count = rules.reduce(0) { $0 + $1.count }
        let list = Self.list(rules, "more rule")
        return count == different ? ": \(list)" : ", in \(count.grouped) places: \(list)"
    }

    private var settled: String? {
        guard !settlements.isEmpty else { return nil }
        return settlements.map { "\($0.setting) settles \($0.rule), if it does not matter to the app." }
            .joined(separator: " ")
    }

    private var halves: String? {
        guard app.partial > 0 else { return nil }
        return
            "\(app.partial.grouped) \(app.partial == 1 ? "recording has" : "recordings have") no history, or no statuses."
    }

    private var leftOver: String? {
        guard failed > 0 else { return nil }
        let failures = app.failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
        let share = failed.share(of: failed + app.compared)
        return "\(failed.grouped) \(failed == 1 ? "receipt" : "receipts") (\(share)) could not be compared: "
            + "\(Self.list(failures, "more reason"))."
    }

    /// The reasons why it is too early to decide; `nil` if it is not, or if the decision does not depend on this app.
    private var tooEarly: String? {
        guard decides, verdict == .notYet else { return nil }
        let isFew = app.customers < Self.minimumCustomers
        let few = isFew ? "\(app.customers.grouped) of \(Self.minimumCustomers.grouped) customers were compared" : nil
        let failures = hasTooManyFailures ? "more than 1 % could not be compared" : nil
        let partial = isTooPartial ? "more than 1 % were compared in part only" : nil
        return "Too early to tell: \([few, failures, partial].compactMap(\.self).joined(separator: ", and "))."
    }

    /// Upper bound as a percentage, rounded up. For example, `0.03 %`; `–` if nothing was compared.
    var boundWords: String { upperBound.map { Int64(($0 * 10_000).rounded(.up)).share(of: 10_000) } ?? "–" }

    /// Names beyond ``namedReasons`` are counted together. For example, `order 3, and 2 more rules`.
    private static func list(_ counts: [(name: String, count: Int64)], _ more: String) -> String {
        var words = counts.prefix(namedReasons).map { "\($0.name.shortened) \($0.count.grouped)" }
        let rest = Int64(counts.count - namedReasons)
        if rest > 0 { words.append("and \(rest.grouped) \(more)\(rest == 1 ? "" : "s")") }
        return words.joined(separator: ", ")
    }
}

extension ComparisonReport.Scope {
    /// For example, `com.example.app, Production`. Long ids are cut.
    package var displayText: String {
        let app = isUnnamed ? "rows that name no app" : app
        return environment.isEmpty ? app : "\(app), \(environmentText)"
    }

    /// Bundle id for display, cut if it is long; `–` if there is none.
    var app: String { isUnnamed ? "–" : bundleId.shortened }
    /// Environment for display; `–` if there is none.
    var environmentText: String { environment.isEmpty ? "–" : environment.shortened }
}
