import Foundation
package import Ledger
package import Pipeline
import StoreTypes
package import StoredRows

/// One run of a migration: from where the last one stood to its end, or as far as it may go.
///
/// Without the Server API a row is read, decoded and written, and that is all. With it there are three stages: all rows are
/// read, decoded and staged in the ledger, where their identifiers say who is who; each customer is asked about once; the
/// result is written from the ledger.
///
/// Each row of the source gives exactly one row of the result, however often and wherever the process dies: what lies
/// beyond the last checkpoint is thrown away by the next run, and done again.
package struct Migration {
    /// How a run ended.
    package struct RunResult: Sendable {
        package var counts: MigrationCounts
        /// Nil where the Server API was not to be asked.
        package var customers: CustomerTally?
        /// Nil where everything is done.
        package var stop: Stop?
        /// Everything was done before: nothing happened.
        package var wasFinished = false
        /// This run and those before it.
        package var history = MigrationHistory()
        /// Customers whose account tokens were to be set, and are not.
        package var untiedCustomers: Int64 = 0
        /// Rows that this run took from the source.
        package var taken: Int64 = 0
        /// Of this run.
        package var duration: Duration = .zero

        /// Whether a run that did everything ends with exit code 1.
        package var hasFailures: Bool { counts.hasFailures || hasFailedCustomers }

        /// Rows of a customer who was known before do not tell.
        var hasFailedCustomers: Bool { (customers?.failed ?? 0) > 0 }

        package init(counts: MigrationCounts, stop: Stop? = nil) {
            self.counts = counts
            self.stop = stop
        }
    }

    package enum Stop: String, Sendable, Hashable {
        case rowLimit, timeLimit, asked, refusedByAppStore, unreachable, planned

        /// For people, to go on after "stopped:".
        package var sentence: String {
            switch self {
            case .rowLimit: "--limit is reached"
            case .timeLimit: "--max-hours are over"
            case .asked: "as asked"
            case .refusedByAppStore: "the App Store refuses the key"
            case .unreachable: "the App Store Server API cannot be reached"
            case .planned: "planned only"
            }
        }
    }

    let options: MigrationOptions
    let reader: ReceiptReader
    let directory: (any CustomerLookupService)?
    let watch: MigrationMonitor
    let say: @Sendable (String) -> Void
    let ledger: MigrationStore
    /// The destination is from an earlier run of this migration, if it is there.
    let isDestinationOurs: Bool
    private let clock = ContinuousClock()
    private let begin: ContinuousClock.Instant
    var source: any RowSource
    var progress: MigrationProgress
    /// Rows that this run took from the source.
    var taken: Int64 = 0
    /// Customers whose account tokens were to be set in this run, and are not.
    var untiedCustomers: Int64 = 0
    /// Calls that earlier runs made.
    private let earlierCalls: Int64

    /// Opens all that is needed; nothing is read or written yet but the ledger.
    ///
    /// - Parameters:
    ///   - directory: nil without the Server API.
    ///   - say: tells a person something once, a sentence at a time.
    package init(
        _ options: MigrationOptions, reader: ReceiptReader, directory: (any CustomerLookupService)?,
        watch: MigrationMonitor, say: @escaping @Sendable (String) -> Void
    ) throws(RunError) {
        self.options = options
        self.reader = reader
        self.directory = directory
        self.watch = watch
        self.say = say
        begin = clock.now
        for report in options.reports { try MigrationReport.check(report) }
        let isTaken = !Files.isEmptyOrMissing(options.destination)
        let foreign = RunError.notPossible(
            "\(options.destination) exists, and is not this migration's: there is no \(options.progressPath), or it is empty"
        )
        // Without one there is to be none after this either.
        guard !isTaken || !Files.isEmptyOrMissing(options.progressPath) else { throw foreign }
        guard Files.isRegularOrMissing(options.destination) else {
            throw .notPossible("\(options.destination) is no file that could be written again")
        }
        (ledger, isDestinationOurs, source, progress) = try running {
            _ = try ResultWriters.kind(of: options.destination)
            let isNew = Files.isEmptyOrMissing(options.progressPath)
            let ledger = try MigrationStore(path: options.progressPath)
            do {
                // The ledger of a start that failed may hold nothing.
                let isOurs = try MigrationProgress.isKept(in: ledger)
                guard isOurs || !isTaken else { throw foreign }
                let (source, progress) = try Self.begin(options, ledger)
                return (ledger, isOurs, source, progress)
            } catch {
                // While its lock is held: another process may wait for it.
                if isNew, (try? MigrationProgress.isKept(in: ledger)) == false {
                    try Files.remove(options.progressPath)
                }
                throw error
            }
        }
        earlierCalls = progress.history.calls
    }

    /// The source at the place where the last run ended, or at its beginning.
    private static func begin(
        _ options: MigrationOptions, _ ledger: MigrationStore
    ) throws -> (any RowSource, MigrationProgress) {
        func open(at position: SourcePosition?) throws(SourceError) -> any RowSource {
            try Sources.open(
                options.source, options: options.lasting.source, limits: options.sourceLimits, at: position)
        }
        var fresh: (any RowSource)?
        if options.isFresh {
            // Open the source first, so that nothing is deleted if it cannot be read. Then delete the destination before
            // the progress: without the progress a later run could not tell that the destination is ours.
            fresh = try open(at: nil)
            try Files.remove(options.destination)
            try ledger.removeAll()
        }
        if let progress = try MigrationProgress(in: ledger) {
            let differences = options.lasting.differences(from: progress.options)
            guard differences.isEmpty else {
                throw RunError.notPossible("\(differences.joined(separator: "; ")). --fresh begins anew")
            }
            return (try open(at: progress.checkpoint.source), progress)
        }
        let source = try fresh ?? open(at: nil)
        return (source, MigrationProgress(options: options.lasting, identity: source.identity))
    }

    /// Runs to the end, or as far as it may, and writes the reports.
    package consuming func run() async throws(RunError) -> RunResult {
        var ending = try await work()
        if options.lasting.withAPI, ending.customers == nil { ending.customers = try running { try ledger.tally() } }
        ending.history = progress.history
        ending.taken = taken
        ending.duration = begin.duration(to: clock.now)
        let report = MigrationReport(options: options, ending: ending)
        for path in options.reports { try report.write(to: path, refusals: ledger) }
        return ending
    }

    private mutating func work() async throws(RunError) -> RunResult {
        let comparison = try running { try source.comparison(with: progress.identity) }
        switch comparison {
        case .same:
            if progress.isFinished, !options.isRefresh, options.accountTokens == .dryRun,
                FileManager.default.fileExists(atPath: options.destination)
            {
                try running { try ResultWriters.check(options.destination, holds: progress.result ?? .start) }
                return ending(stop: nil, wasFinished: true)
            }
            // Of a source without an end to see nobody can tell whether it has grown.
            if options.isRefresh, !source.identity.hasEnd { progress.whole = nil }
        case .grown:
            if progress.whole != nil {
                say("the source has grown since: going on behind row \(progress.checkpoint.counts.rows)")
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

    private mutating func workOn() async throws(RunError) -> RunResult {
        watch.show { [progress, source] in
            $0.fraction = source.fraction
            $0.earlierFraction = source.fraction ?? 0
            $0.counts = progress.whole ?? progress.checkpoint.counts
            $0.earlierRows = progress.checkpoint.counts.rows
        }
        return options.lasting.withAPI ? try await runWithAPI() : try await runOffline()
    }

    /// Why no new work is to begin; nil where nothing speaks against it.
    var stop: Stop? {
        if watch.isStopped { return .asked }
        if let limit = options.rowLimit, taken >= limit { return .rowLimit }
        if let limit = options.timeLimit, begin.duration(to: clock.now) >= limit { return .timeLimit }
        return nil
    }

    mutating func countCalls() { progress.history.calls = earlierCalls + (directory?.usage.calls ?? 0) }

    func ending(stop: Stop?, wasFinished: Bool = false) -> RunResult {
        var ending = RunResult(counts: progress.whole ?? progress.checkpoint.counts, stop: stop)
        ending.wasFinished = wasFinished
        ending.untiedCustomers = untiedCustomers
        return ending
    }
}
