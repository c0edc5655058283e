package import ReceiptBridgeBase

/// What became of a row.
package enum MigrationOutcome: String, Sendable, Hashable, CaseIterable, Codable {
    /// The row has data of the App Store Server API.
    case migrated
    /// Authentic, and the App Store Server API was not requested.
    case decoded
    /// Authentic, but there is no id to look up.
    case noTransactions
    /// Not a receipt, or not authentic.
    case refused
    /// The customer is unknown in both environments.
    case notFound
    /// Temporary failure, which a later run retries.
    case failed
}

/// Counts of processed rows, for the summary table, the report and the exit code.
package struct MigrationCounts: Sendable, Hashable, Codable {
    package private(set) var rows: Int64 = 0
    package private(set) var outcomes: [String: Int64] = [:]
    package private(set) var kinds: [String: Int64] = [:]
    /// Number of rows by environment; `unknown` if it could not be read.
    package private(set) var environments: [String: Int64] = [:]
    /// Number of rows by year of the receipt. Does not include rows without a readable date.
    package private(set) var years: [String: Int64] = [:]
    package private(set) var repairs: [String: Int64] = [:]
    package private(set) var reasons: [String: Int64] = [:]
    package private(set) var refusals: [String: Int64] = [:]
    package private(set) var authentic: Int64 = 0
    /// Number of rows whose id was missing or not unique.
    package var renamedIds: Int64 = 0

    /// Number of rows that cannot be looked up, by app, because it has no key; `nil` if there is none. At most
    /// ``maximumApps`` apps have a name of their own, because anyone can write a bundle id.
    package private(set) var withoutKey: [String: Int64]?

    private static let maximumApps = 16

    package init() {}

    package func count(of outcome: MigrationOutcome) -> Int64 { outcomes[outcome.rawValue] ?? 0 }

    package var hasFailures: Bool { [.refused, .notFound, .failed].contains { count(of: $0) > 0 } }

    /// - Parameters:
    ///   - reason: Error code; `nil` if there was no failure.
    ///   - environment: `nil` if it could not be read.
    ///   - year: Year of the receipt; `nil` if it could not be read.
    package mutating func add(
        _ outcome: MigrationOutcome, reason: String?, kind: String, environment: String?, repairs: [String],
        isAuthentic: Bool, year: Int?
    ) {
        rows += 1
        outcomes[outcome.rawValue, default: 0] += 1
        kinds[kind, default: 0] += 1
        environments[environment ?? "unknown", default: 0] += 1
        if let year { years["\(year)", default: 0] += 1 }
        for repair in repairs { self.repairs[repair, default: 0] += 1 }
        if let reason {
            reasons[reason, default: 0] += 1
            if outcome == .refused { refusals[reason, default: 0] += 1 }
        }
        if isAuthentic { authentic += 1 }
    }

    /// Counts a row that cannot be looked up, because its app has no key.
    package mutating func add(rowsWithoutKey count: Int64, of app: String) {
        var counts = withoutKey ?? [:]
        let isNamed = counts[app] != nil || counts.count < Self.maximumApps
        counts[isNamed ? app : "other apps", default: 0] += count
        withoutKey = counts
    }

    package mutating func add(_ other: MigrationCounts) {
        rows += other.rows
        outcomes.merge(other.outcomes, uniquingKeysWith: +)
        kinds.merge(other.kinds, uniquingKeysWith: +)
        environments.merge(other.environments, uniquingKeysWith: +)
        years.merge(other.years, uniquingKeysWith: +)
        repairs.merge(other.repairs, uniquingKeysWith: +)
        reasons.merge(other.reasons, uniquingKeysWith: +)
        refusals.merge(other.refusals, uniquingKeysWith: +)
        authentic += other.authentic
        renamedIds += other.renamedIds
        for (app, count) in other.withoutKey ?? [:] { add(rowsWithoutKey: count, of: app) }
    }

    /// Replaces the outcomes and reasons, which lookups have changed. The other counts stay.
    package mutating func replace(outcomes: [MigrationOutcome: Int64], reasons: [String: Int64]) {
        self.outcomes = Dictionary(uniqueKeysWithValues: outcomes.map { ($0.key.rawValue, $0.value) })
        self.reasons = reasons
    }
}

/// Numbers of customers by state.
package struct CustomerTally: Sendable, Hashable {
    package var waiting: Int64 = 0
    package var known: Int64 = 0
    package var notFound: Int64 = 0
    package var failed: Int64 = 0

    package init() {}

    package var all: Int64 { waiting + known + notFound + failed }
}

/// Totals of a migration over all of its runs; of a shared migration only the calls. A crash loses at most the time
/// since the last checkpoint.
package struct MigrationHistory: Sendable, Hashable, Codable {
    /// Start of the first run in milliseconds since 1970; `nil` before it.
    private var beginning: Int64?
    private var end: Int64?
    /// Number of runs that had something to do.
    package var runs: Int64 = 0
    package var calls: Int64 = 0

    package var begun: Timestamp? { beginning.map(Timestamp.init(milliseconds:)) }

    /// End of the last run; `nil` while it is running.
    package var ended: Timestamp? { end.map(Timestamp.init(milliseconds:)) }

    package mutating func begin(at now: Timestamp) {
        beginning = beginning ?? now.milliseconds
        end = nil
        runs += 1
    }

    package mutating func end(at now: Timestamp) { end = now.milliseconds }
}
