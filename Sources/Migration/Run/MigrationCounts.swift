/// What became of the rows so far, in numbers: for the table, the report and the exit code.
package struct MigrationCounts: Sendable, Hashable, Codable {
    package private(set) var rows: Int64 = 0
    /// By the names of ``Outcome``.
    package private(set) var outcomes: [String: Int64] = [:]
    package private(set) var kinds: [String: Int64] = [:]
    /// Of what could be read; `unknown` for the rest.
    package private(set) var environments: [String: Int64] = [:]
    /// In which receipts were made; of what could be read.
    package private(set) var years: [String: Int64] = [:]
    package private(set) var repairs: [String: Int64] = [:]
    /// Codes of failures.
    package private(set) var reasons: [String: Int64] = [:]
    /// Those of refused rows alone.
    package private(set) var refusals: [String: Int64] = [:]
    /// Rows whose receipt is authentic.
    package private(set) var authentic: Int64 = 0
    /// Rows whose id was missing or another row's.
    package var renamedIds: Int64 = 0

    package init() {}

    package func count(of outcome: Outcome) -> Int64 { outcomes[outcome.rawValue] ?? 0 }

    /// Whether a row was refused, not found or failed.
    package var hasFailures: Bool { [.refused, .notFound, .failed].contains { count(of: $0) > 0 } }

    package mutating func add(_ row: ResultRow, year: Int?) {
        rows += 1
        outcomes[row.outcome.rawValue, default: 0] += 1
        kinds[row.kind, default: 0] += 1
        environments[row.environment ?? "unknown", default: 0] += 1
        if let year { years["\(year)", default: 0] += 1 }
        for repair in row.repairs { repairs[repair, default: 0] += 1 }
        if let reason = row.reason {
            reasons[reason, default: 0] += 1
            if row.outcome == .refused { refusals[reason, default: 0] += 1 }
        }
        if row.verified { authentic += 1 }
    }
}
