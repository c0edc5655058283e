import Base
import Foundation
package import ReceiptInspection
package import Reports
import Storage

/// One run of a migration. It resumes from the checkpoint of the previous run, if there is one, and ends at the end
/// of the source or at a limit.
///
/// Without the App Store Server API, rows are read, decoded and written. With it, there are three stages: all rows
/// are read, decoded and staged in the progress file, which groups their ids by customer; each customer is looked up
/// once; the result is written from the progress file.
///
/// Each row of the source has exactly one row in the result, even if the process crashes: output after the last
/// checkpoint is discarded by the next run, and its rows are processed again.
package struct Migration {
    /// Result of a run.
    package struct RunResult: Sendable {
        /// Counts of all processed rows, including those of earlier runs.
        package var counts: MigrationCounts
        /// Counts of customers; `nil` without the App Store Server API.
        package var customers: CustomerTally?
        /// Reason for stopping early; `nil` if everything is done.
        package var stop: Stop?
        /// `true` if an earlier run had finished, so that there was nothing to do.
        package var wasFinished = false
        /// Totals of this run and all earlier ones.
        package var history = MigrationHistory()
        /// Number of customers whose account tokens could not be set.
        package var customersWithoutToken: Int64 = 0
        /// Number of waiting customers with a subscription that has not expired, by their receipts; `nil` if unknown.
        package var activeCustomers: Int64?
        /// Number of rows that this run read from the source.
        package var rowsRead: Int64 = 0
        /// Duration of this run.
        package var duration: Duration = .zero

        /// `true` if a run that was not stopped ends with exit code 1. Failed lookups are counted by customer, because
        /// rows with data of an earlier run keep their outcome.
        package var hasFailures: Bool { counts.hasFailures || (customers?.failed ?? 0) > 0 }

        package init(counts: MigrationCounts, stop: Stop? = nil) {
            self.counts = counts
            self.stop = stop
        }
    }

    package typealias Stop = MigrationReport.Stop

    let options: MigrationOptions
    let reader: ReceiptReader
    let lookups: (any CustomerLookupService)?
    let monitor: MigrationMonitor
    let notify: @Sendable (String) -> Void
    let ledger: MigrationStore
    /// `true` if the destination, if it exists, is from an earlier run of this migration.
    let isDestinationOurs: Bool
    private let startTime = ContinuousClock.now
    var source: any RowSource
    var progress: MigrationProgress
    /// Number of rows that this run has read from the source.
    var rowsRead: Int64 = 0
    /// Number of customers whose account tokens could not be set in this run.
    var customersWithoutToken: Int64 = 0
    /// Number of App Store Server API calls in earlier runs.
    private let earlierCalls: Int64

    /// Opens the source and the progress file. Nothing else is read or written yet.
    ///
    /// - Parameters:
    ///   - lookups: Looks up customers; `nil` without the App Store Server API.
    ///   - monitor: Receives the progress and stops the run.
    ///   - notify: Prints a message of one sentence.
    package init(
        _ options: MigrationOptions, reader: ReceiptReader, lookups: (any CustomerLookupService)?,
        monitor: MigrationMonitor, notify: @escaping @Sendable (String) -> Void
    ) throws(RunError) {
        self.options = options
        self.reader = reader
        self.lookups = lookups
        self.monitor = monitor
        self.notify = notify
        for report in options.reports { try reporting { try MigrationReport.check(report) } }
        try Self.check(options.tables, options)
        let hasDestination = !Files.isEmptyOrMissing(options.destination)
        let foreignDestination = RunError.notPossible(
            "\(options.destination) exists, but does not belong to this migration: \(options.progressPath) is missing or empty"
        )
        // If there is no progress file, do not create one for a destination that belongs to something else.
        guard !hasDestination || !Files.isEmptyOrMissing(options.progressPath) else { throw foreignDestination }
        guard Files.isRegularOrMissing(options.destination) else {
            throw .notPossible("\(options.destination) is not a regular file")
        }
        (ledger, isDestinationOurs, source, progress) = try running {
            _ = try ResultWriters.kind(of: options.destination, options.persisted.resultFormat)
            let isNew = Files.isEmptyOrMissing(options.progressPath)
            let ledger = try MigrationStore(path: options.progressPath)
            do {
                // A run that failed while starting leaves a progress file without a checkpoint.
                let isOurs = try MigrationProgress.isSaved(in: ledger)
                guard isOurs || !hasDestination else { throw foreignDestination }
                let (source, progress) = try Self.begin(options, ledger)
                return (ledger, isOurs, source, progress)
            } catch {
                // Remove the file while its lock is held, because another process may be waiting for it.
                if isNew, (try? MigrationProgress.isSaved(in: ledger)) == false {
                    try Files.remove(options.progressPath)
                }
                throw error
            }
        }
        earlierCalls = progress.history.calls
    }

    /// Opens the source at the position where the previous run ended, or at its beginning.
    private static func begin(
        _ options: MigrationOptions, _ ledger: MigrationStore
    ) throws -> (any RowSource, MigrationProgress) {
        func open(at position: SourcePosition?) throws(SourceError) -> any RowSource {
            try Sources.open(
                options.source, options: options.persisted.source, limits: options.sourceLimits, at: position)
        }
        var fresh: (any RowSource)?
        if options.isFresh {
            // Open the source first, so that nothing is deleted if it cannot be read. Then delete the destination
            // before the progress file: without the checkpoint, a later run could not detect that the destination
            // belongs to this migration.
            fresh = try open(at: nil)
            try Files.remove(options.destination)
            try ledger.removeAll()
        }
        if let progress = try MigrationProgress.saved(in: ledger) {
            let differences = options.persisted.differences(from: progress.options)
            guard differences.isEmpty else {
                throw RunError.notPossible("\(differences.joined(separator: "; ")). Use --fresh to start over")
            }
            return (try open(at: progress.checkpoint.source), progress)
        }
        let source = try fresh ?? open(at: nil)
        return (source, MigrationProgress(options: options.persisted, identity: source.identity))
    }

    /// Runs until the end or a limit, then writes the flat tables if everything is done, and the reports.
    package consuming func run() async throws(RunError) -> RunResult {
        if progress.checkpoint.counts.rows == 0 { for notice in source.notices { notify(notice) } }
        var ending = try await work()
        if ending.stop == nil { try writeTables() }
        if options.persisted.withAPI, ending.customers == nil { ending.customers = try running { try ledger.tally() } }
        ending.history = progress.history
        ending.rowsRead = rowsRead
        ending.duration = startTime.duration(to: .now)
        let report = MigrationReport(options: options, ending: ending)
        for path in options.reports { try report.write(to: path, refusals: ledger) }
        return ending
    }

    /// Compares the source with that of the earlier runs, then runs if there is something to do.
    private mutating func work() async throws(RunError) -> RunResult {
        let comparison = try running { try source.comparison(with: progress.identity) }
        switch comparison {
        case .same:
            if progress.isFinished, !options.isRefresh, !options.setsAccountTokens,
                FileManager.default.fileExists(atPath: options.destination)
            {
                try running { try ResultWriters.check(options.destination, holds: progress.result ?? .start) }
                return ending(stop: nil, wasFinished: true)
            }
            // If the size of the source is unknown, growth cannot be detected, so read it again.
            if options.isRefresh, !source.identity.hasEnd { progress.whole = nil }
        case .grown:
            if progress.whole != nil {
                notify("the source has grown; resuming after row \(progress.checkpoint.counts.rows)")
                progress.whole = nil
                progress.isFinished = false
            }
            progress.identity = source.identity
        case .changed(let reason):
            throw .anotherSource(options.source, reason: reason)
        }
        progress.history.begin(at: .now)
        let ending = try await workOn()
        try running {
            progress.history.end(at: .now)
            countCalls()
            try progress.save(in: ledger)
        }
        return ending
    }

    /// Runs with or without the App Store Server API.
    private mutating func workOn() async throws(RunError) -> RunResult {
        monitor.change { [progress, source] in
            $0.fraction = source.fraction
            $0.earlierFraction = source.fraction ?? 0
            $0.counts = progress.whole ?? progress.checkpoint.counts
            $0.earlierRows = progress.checkpoint.counts.rows
        }
        return options.persisted.withAPI ? try await runWithAPI() : try await runOffline()
    }

    /// Reason to stop; `nil` if the run can continue.
    var stop: Stop? { options.stop(after: rowsRead, since: startTime, monitor) }

    /// Updates the number of calls, which includes those of earlier runs.
    mutating func countCalls() { progress.history.calls = earlierCalls + (lookups?.usage.calls ?? 0) }

    func ending(stop: Stop?, wasFinished: Bool = false) -> RunResult {
        var ending = RunResult(counts: progress.whole ?? progress.checkpoint.counts, stop: stop)
        ending.wasFinished = wasFinished
        ending.customersWithoutToken = customersWithoutToken
        return ending
    }
}
