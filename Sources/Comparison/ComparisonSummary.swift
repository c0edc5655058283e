package import ReceiptBridgeBase

/// Counts of comparisons by app, and of differences by class, rule and path. Memory is bounded: at most three
/// examples of each kind of difference are stored, however many there are.
package struct ComparisonSummary: Sendable, Codable {
    /// Differences with the same key are counted together.
    package struct Key: Sendable, Hashable, Codable {
        package let scope: ComparisonReport.Scope
        package let verdict: ComparisonRule.Class
        package let rule: String
        /// Path without row ids.
        package let path: String
    }

    /// Limit on the examples stored for each key.
    package static let maximumExamples = 3
    /// Limit on the keys, because a document can contain any number of properties.
    package static let maximumEntries = 1_000
    /// Limit on the pairs of app and environment, because documents can contain any number of them.
    static let maximumScopes = 1_000
    /// Limit on the customers of all apps together. Further customers are not counted.
    package static let maximumCustomers = 200_000

    package private(set) var apps: [ComparisonReport.Scope: ComparisonReport.App] = [:]
    package private(set) var entries: [Key: ComparisonReport.Entry] = [:]
    /// Differences beyond ``maximumEntries``. They are counted under their rule with the path `…`.
    package private(set) var overflow: Int64 = 0
    package private(set) var historyVersions: [Int: Int64] = [:]
    package private(set) var unverified: Int64 = 0
    /// Number of comparisons whose verifyReceipt response is not written as Apple writes it; `nil` if there are none.
    private var rewritten: Int64?
    /// Customers of the compared receipts; `nil` in progress files of versions that did not count customers.
    private var customers: [ComparisonReport.Scope: CustomerSet]?

    package init() {}

    package var isEmpty: Bool { apps.isEmpty }

    package var compared: Int64 { apps.values.reduce(0) { $0 + $1.compared } }
    /// Number of comparisons without an unexpected difference.
    package var equal: Int64 { apps.values.reduce(0) { $0 + $1.equal } }
    package var failed: Int64 { apps.values.reduce(0) { $0 + $1.failures.values.reduce(0, +) } }

    package func count(_ verdict: ComparisonRule.Class) -> Int64 {
        entries.reduce(0) { $0 + ($1.key.verdict == verdict ? $1.value.count : 0) }
    }

    package var customerCounts: [ComparisonReport.Scope: Int64] { (customers ?? [:]).mapValues(\.count) }

    package func customers(of scope: ComparisonReport.Scope) -> CustomerSet { customers?[scope] ?? CustomerSet() }

    /// - Parameters:
    ///   - customer: Digest of the customer, see ``ComparedCustomer``.
    ///   - historyVersion: 1 or 2; `nil` if no history was compared.
    ///   - isWhole: Whether everything in the verifyReceipt response had a counterpart to compare with.
    ///   - isOfRecordsOnly: Whether no response could be rendered from the records.
    package mutating func add(
        _ differences: [Difference], of scope: ComparisonReport.Scope, customer: Int64? = nil,
        historyVersion: Int? = nil, isWhole: Bool = true, isVerified: Bool = true, isRewritten: Bool = false,
        isOfRecordsOnly: Bool = false,
        at now: Timestamp? = nil
    ) {
        let scope = countedScope(scope)
        if let customer, hasRoomForCustomers { customers(of: scope) { $0.insert(customer) } }
        if isOfRecordsOnly { addRecordsOnly(1, of: scope) }
        apps[scope]?.compared += 1
        if !differences.contains(where: { $0.verdict == .unexpected }) { apps[scope]?.equal += 1 }
        if !isWhole { apps[scope]?.partial += 1 }
        if let historyVersion { historyVersions[historyVersion, default: 0] += 1 }
        if !isVerified { unverified += 1 }
        if isRewritten { rewritten = (rewritten ?? 0) + 1 }
        for difference in differences { add(difference, of: scope, at: now) }
    }

    private mutating func addRecordsOnly(_ count: Int64, of scope: ComparisonReport.Scope) {
        let before = apps[scope]?.recordsOnly ?? 0
        apps[scope]?.recordsOnly = before + count
    }

    private var hasRoomForCustomers: Bool {
        (customers ?? [:]).values.reduce(0) { $0 + $1.count } < Self.maximumCustomers
    }

    /// Changes the customers of an app without copying the dictionary: it is removed from the property first, so that
    /// its storage is uniquely referenced.
    private mutating func customers(of scope: ComparisonReport.Scope, _ change: (inout CustomerSet) -> Void) {
        var all = customers ?? [:]
        customers = nil
        change(&all[scope, default: CustomerSet()])
        customers = all
    }

    /// - Parameter code: Short reason that failures are grouped by. For example, `notAuthentic`.
    package mutating func addFailure(_ code: String, of scope: ComparisonReport.Scope) {
        apps[countedScope(scope)]?.failures[code, default: 0] += 1
    }

    /// Adds the counts of another summary, which was made after this one.
    package mutating func merge(_ other: ComparisonSummary) {
        for (scope, app) in other.apps {
            let scope = countedScope(scope)
            apps[scope]?.compared += app.compared
            apps[scope]?.equal += app.equal
            apps[scope]?.partial += app.partial
            if let count = app.recordsOnly { addRecordsOnly(count, of: scope) }
            apps[scope]?.failures.merge(app.failures, uniquingKeysWith: +)
        }
        for (scope, others) in other.customers ?? [:] where hasRoomForCustomers {
            customers(of: countedScope(scope)) { $0.formUnion(others) }
        }
        for entry in other.entries.values {
            let key = self.key(
                for: entry.rule, entry.verdict, entry.path, countedScope(entry.scope), at: entry.firstSeen)
            if key.path != entry.path { overflow += entry.count }
            entries[key]?.count += entry.count
            if let seen = entry.lastSeen { entries[key]?.lastSeen = seen }
            let room = Self.maximumExamples - (entries[key]?.examples.count ?? 0)
            entries[key]?.examples += entry.examples.prefix(max(room, 0))
        }
        overflow += other.overflow
        historyVersions.merge(other.historyVersions, uniquingKeysWith: +)
        unverified += other.unverified
        if let count = other.rewritten { rewritten = (rewritten ?? 0) + count }
    }

    /// Removes a failure from the count, because the receipt is retried.
    package mutating func removeFailure(_ code: String, of scope: ComparisonReport.Scope) {
        let scope = countedScope(scope)
        guard let count = apps[scope]?.failures[code] else { return }
        apps[scope]?.failures[code] = count > 1 ? count - 1 : nil
    }

    /// Counts one difference and stores it as an example if there is room.
    private mutating func add(_ difference: Difference, of scope: ComparisonReport.Scope, at now: Timestamp?) {
        let key = self.key(for: difference.rule, difference.verdict, difference.path, scope, at: now)
        if key.path != difference.path { overflow += 1 }
        entries[key]?.count += 1
        if let now { entries[key]?.lastSeen = now }
        if let examples = entries[key]?.examples, examples.count < Self.maximumExamples {
            entries[key]?.examples.append(difference)
        }
    }

    /// Returns the key that a difference is counted under: its own path, or `…` if there are too many keys.
    private mutating func key(
        for rule: String, _ verdict: ComparisonRule.Class, _ path: String, _ scope: ComparisonReport.Scope,
        at now: Timestamp?
    ) -> Key {
        var key = Key(scope: scope, verdict: verdict, rule: rule, path: path)
        if entries[key] == nil, entries.count >= Self.maximumEntries {
            key = Key(scope: scope, verdict: verdict, rule: rule, path: "…")
        }
        if entries[key] == nil {
            entries[key] = ComparisonReport.Entry(
                scope: scope, verdict: verdict, rule: rule, path: key.path, count: 0, firstSeen: now)
        }
        return key
    }

    /// Returns the scope that is counted, and adds it if it is new: `others` if there are too many.
    private mutating func countedScope(_ scope: ComparisonReport.Scope) -> ComparisonReport.Scope {
        if apps[scope] != nil { return scope }
        let scope = apps.count < Self.maximumScopes ? scope : .others
        apps[scope] = apps[scope] ?? ComparisonReport.App(scope: scope)
        return scope
    }

    package func report(_ kind: ComparisonReport.Kind, title: String, madeAt: Timestamp) -> ComparisonReport {
        var report = ComparisonReport(kind: kind, title: title, madeAt: madeAt)
        report.apps = apps.values.sorted { $0.scope < $1.scope }.map { app in
            var app = app
            app.customers = customers(of: app.scope).count
            return app
        }
        report.entries = ComparisonReport.Entry.listed(entries.values)
        report.historyVersions = historyVersions
        report.unverified = unverified
        if let rewritten {
            report.notes.append(
                "verifyReceipt responses with lists written as objects, or objects as lists: \(rewritten).")
        }
        if overflow > 0 {
            report.notes.append(
                "\(overflow) differences beyond the limit of \(Self.maximumEntries) paths are counted as “…”.")
        }
        return report
    }
}

extension ComparisonReport.Scope {
    /// Scope that apps beyond ``ComparisonSummary/maximumScopes`` are counted under.
    static let others = ComparisonReport.Scope(bundleId: "…", environment: "")
}

extension ComparisonReport.Entry {
    /// Returns the entries of a report by class, unexpected ones first, then by descending count. Entries that are
    /// expected by definition, which earlier versions stored, are left out.
    package static func listed(_ entries: some Sequence<Self>) -> [Self] {
        entries.filter { $0.verdict == .unexpected || !ComparisonRules.byDefinition.contains($0.rule) }
            .sorted { one, other in
                if one.verdict != other.verdict { return one.verdict < other.verdict }
                if one.count != other.count { return one.count > other.count }
                return (one.scope, one.rule, one.path) < (other.scope, other.rule, other.path)
            }
    }
}
