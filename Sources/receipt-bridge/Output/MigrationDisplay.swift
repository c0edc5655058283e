import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeComparison
import Synchronization

/// Progress of a migration on standard error: a line that is rewritten on a terminal, otherwise a plain line every
/// few seconds.
final class MigrationDisplay: Sendable {
    private let monitor: MigrationMonitor
    private let wait: @Sendable () -> RateLimitWait?
    private let line = ProgressLine()
    /// The rate is measured since this number of rows, at a time that moves forward every two seconds.
    private let lastRows = Mutex<(rows: Int64, time: ContinuousClock.Instant)?>(nil)

    /// - Parameter wait: Returns how long calls wait for a rate limit; `nil` if no call waits.
    init(monitor: MigrationMonitor, wait: @escaping @Sendable () -> RateLimitWait?) {
        self.monitor = monitor
        self.wait = wait
    }

    /// Shows progress during the work. The first Ctrl-C or SIGTERM stops the run at its next checkpoint.
    func showing(
        _ work: () async throws(RunError) -> MigrationResult
    ) async throws(RunError) -> MigrationResult {
        let begin = ContinuousClock.now
        return try await line.showing({ self.progress(since: begin) }, stop: { self.monitor.stop() }, while: work)
    }

    private func progress(since begin: ContinuousClock.Instant) -> ProgressText {
        let (status, now) = (monitor.now, ContinuousClock.now)
        let rate = lastRows.withLock { last in
            let before = last ?? (status.earlierRows, begin)
            let seconds = before.time.duration(to: now) / .seconds(1)
            if seconds > 2 || last == nil { last = (status.counts.rows, now) }
            return seconds > 0 ? Double(status.counts.rows - before.rows) / seconds : 0
        }
        return status.progress(rate: rate, elapsed: begin.duration(to: now) / .seconds(1), wait: wait())
    }

    /// Prints a sentence on a line of its own.
    func say(_ sentence: String) {
        line.clear()
        Terminal.say(sentence)
    }

    func table(_ text: String) {
        line.clear()
        if !Terminal.isQuiet { Terminal.note(text) }
    }
}

/// The summary at the end of a migration, and the estimate of `--plan`.
enum MigrationTable {
    /// Returns the summary: outcomes, each with its reasons, the most frequent first; then rows, customers and calls.
    static func text(_ result: MigrationResult) -> String {
        var lines: [(String, String)] = []
        func add(_ name: String, _ value: Int64) { lines.append((name, value.grouped)) }
        var reasons = result.counts.reasons.reduce(into: [:] as [String: Int64]) { rest, reason in
            let count = reason.value - (result.counts.refusals[reason.key] ?? 0)
            if count > 0 { rest[reason.key] = count }
        }
        func addReasons(_ counts: [String: Int64]) {
            for (reason, count) in counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
                add("  \(reason)", count)
            }
        }
        for outcome in MigrationOutcome.allCases where result.counts.count(of: outcome) > 0 {
            add(outcome.rawValue, result.counts.count(of: outcome))
            switch outcome {
            case .refused: addReasons(result.counts.refusals)
            case .notFound, .failed:
                // Apple's numbers of what does not exist begin with 404; an id that neither environment knows has none.
                let own = reasons.filter {
                    ($0.key.hasPrefix("404") || $0.key == "notFound") == (outcome == .notFound)
                }
                for reason in own.keys { reasons[reason] = nil }
                addReasons(own)
            case .migrated, .decoded, .noTransactions: break
            }
        }
        add("rows", result.counts.rows)
        if result.counts.renamedIds > 0 { add("ids made unique", result.counts.renamedIds) }
        if let customers = result.customers {
            add("customers", customers.all)
            add("calls", result.history.calls)
        }
        if !reasons.isEmpty {
            add("not authentic, but looked up", reasons.values.reduce(0, +))
            addReasons(reasons)
        }
        return Terminal.style(beginnings: styles, of: Terminal.aligned(lines))
    }

    /// The styles of outcomes, and of their sum.
    private static let styles: [(String, TextStyle)] =
        MigrationOutcome.allCases.map { outcome in
            switch outcome {
            case .migrated, .decoded: (outcome.rawValue, .good)
            case .noTransactions: (outcome.rawValue, .dim)
            case .notFound: (outcome.rawValue, .warning)
            case .refused, .failed: (outcome.rawValue, .bad)
            }
        } + [("rows", .heading), ("not authentic", .warning)]

    /// Returns where the results are, and what can be done next.
    static func closing(
        _ result: MigrationResult, _ options: MigrationOptions, isShared: Bool
    ) -> (places: String, hint: String?) {
        let (withAPI, counts) = (options.persisted.withAPI, result.counts)
        let hasViews = withAPI && (isShared || [".sqlite", ".db"].contains { options.destination.hasSuffix($0) })
        let places =
            ["the results are in \(options.destination)\(hasViews ? " (also as transactions and subscriptions)" : "")"]
            + options.tables.sorted { $0.value < $1.value }.map { "the \($0.key.rawValue) in \($0.value)" }
            + options.reports.map { "a report in \($0)" }
        var hints: [String] = []
        if counts.count(of: .failed) > 0 { hints.append("the same command again retries the failed rows") }
        if counts.count(of: .refused) > 0, options.reports.isEmpty, !isShared {
            hints.append("--report refused.html lists the refused rows")
        }
        if !withAPI, counts.count(of: .decoded) > 0 {
            hints.append("--with-api with another destination looks the customers up; --plan only counts the calls")
        } else if withAPI, !isShared, hints.isEmpty, counts.withoutKey == nil {
            hints.append("--refresh transfers later changes")
        }
        return (places.joined(separator: ", "), hints.isEmpty ? nil : hints.joined(separator: ". "))
    }

    /// Returns the estimated cost of a run. Each customer needs one call for the history and one for the statuses.
    /// Long histories need more, and fewer are needed if a history shows that two customers are the same.
    static func plan(_ result: MigrationResult, callsPerHour: Double, share: Double) -> String {
        let customers = result.customers?.waiting ?? 0
        // The first hour's calls can be made at once, because the token bucket starts full.
        let hours = max(0, Double(customers) - callsPerHour) / callsPerHour
        return """
            rows       \(result.counts.rows.grouped)
            customers  \(customers.grouped)
            calls      about \((customers * 2).grouped)
            hours      \(Int(hours)).\(Int(hours * 10) % 10) by the hourly limits, plus the time of the calls themselves
            time       \(result.lookupTime(callsPerHour: callsPerHour, share: share))
            """
    }
}
