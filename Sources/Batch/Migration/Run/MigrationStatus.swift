package import ReceiptBridgeBase
package import ReceiptBridgeComparison

package typealias MigrationMonitor = RunMonitor<MigrationStatus>

/// Progress of a running migration.
package struct MigrationStatus: Sendable {
    /// Stage of a run.
    package enum Phase: String, Sendable {
        case reading, asking, writing, linking, done
    }

    /// Number of customers whose account tokens are set, or would be in a dry run.
    package struct Accounts: Sendable {
        package var all: Int64 = 0
        package var done: Int64 = 0
        package var failed: Int64 = 0
    }

    package var phase = Phase.reading
    /// Counts of processed rows, including those of earlier runs.
    package var counts = MigrationCounts()
    /// Number of rows that earlier runs processed.
    package var earlierRows: Int64 = 0
    /// Fraction of the source that has been read, 0 to 1; `nil` if the size of the source is unknown.
    package var fraction: Double?
    /// Fraction of the source that earlier runs read.
    var earlierFraction: Double = 0
    package var customers = CustomerTally()
    /// Number of App Store Server API calls in this run.
    package var calls: Int64 = 0
    /// Remaining history calls of this hour, for the app and environment that has the fewest; `nil` before the first
    /// call.
    package var budgetLeft: Int64?
    package var accounts = Accounts()

    package init() {}
}

extension MigrationStatus {
    /// The progress line. For example, `reading 120,000 rows, 41,200/s, 63 %, 2 min left: decoded 118,000, refused
    /// 2,000`.
    ///
    /// - Parameters:
    ///   - rate: Rows per second.
    ///   - elapsed: Seconds since this run started.
    ///   - wait: The wait for a rate limit; `nil` if no call is waiting.
    package func progress(rate: Double, elapsed: Double, wait: RateLimitWait?) -> ProgressText {
        switch phase {
        case .reading: ProgressText(reading(rate, elapsed) + outcomes, fraction: fraction)
        case .asking:
            of(
                customers.all, done: customers.all - customers.waiting,
                { .init("looking up customers: \($0)", short: "customers \($0)", importance: 5) },
                budgetLeft.map { .init("\($0.grouped) left of this hour", importance: 1) }, wait)
        case .writing: ProgressText([.init("writing the result", importance: 0)])
        case .linking:
            of(
                accounts.all, done: accounts.done,
                { .init("setting account tokens: \($0) customers", short: "tokens \($0)", importance: 5) },
                accounts.failed > 0 ? .init("\(accounts.failed.grouped) failed", importance: 6) : nil, wait)
        case .done: ProgressText([.init("done", importance: 0)])
        }
    }

    /// The progress of calls for some customers.
    private func of(
        _ all: Int64, done: Int64, _ counted: (String) -> ProgressText.Part, _ other: ProgressText.Part?,
        _ wait: RateLimitWait?
    ) -> ProgressText {
        let calls = ProgressText.Part("\(calls.grouped) calls", importance: 0)
        let parts = [counted("\(done.grouped) of \(all.grouped)"), calls, other, .waiting(wait, importance: 9)]
        return ProgressText(
            parts.compactMap(\.self), fraction: all > 0 ? Double(done) / Double(all) : nil, items: done)
    }

    private func reading(_ rate: Double, _ elapsed: Double) -> [ProgressText.Part] {
        let rows = counts.rows.grouped
        var parts: [ProgressText.Part] = [
            .init("reading \(rows) rows", short: "\(rows) rows", importance: 5),
            .init("\(Int64(rate).grouped)/s", importance: 2),
        ]
        guard let fraction, fraction > 0 else { return parts }
        parts.append(.init("\(Int(fraction * 100)) %", importance: 4, isInBar: true))
        let done = fraction - earlierFraction
        if done > 0, fraction < 1 {
            parts.append(.remaining(elapsed * (1 - fraction) / done, importance: 3))
        }
        return parts
    }

    /// Counts of outcomes. If the line is too long, successes are omitted before failures.
    private var outcomes: [ProgressText.Part] {
        MigrationOutcome.allCases.filter { counts.count(of: $0) > 0 }.map { outcome in
            .init(
                "\(outcome.rawValue) \(counts.count(of: outcome).grouped)",
                importance: [.refused, .notFound, .failed].contains(outcome) ? 1 : 0, after: ": ")
        }
    }
}
