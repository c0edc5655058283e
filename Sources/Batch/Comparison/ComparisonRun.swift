package import ReceiptBridgeBase
package import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeCore

/// One run of the `compare` command. It resumes from the checkpoint of the previous run, if there is one, and ends at
/// the end of the source or at a limit.
///
/// Every row is counted exactly once, even if the process crashes: output after the last checkpoint is truncated by
/// the next run, and its rows are processed again. Rows with a temporary failure are retried by the next run after
/// the source has been read completely.
package struct ComparisonRun {
    /// Result of a run.
    package struct ComparisonEnding: Sendable {
        package var report: ComparisonReport
        /// Reason for stopping early; `nil` if everything is done.
        package var stop: RunStop?
        /// Number of processed rows, including those of earlier runs.
        package var rows: Int64
        package var compared: Int64
        /// Number of compared rows with an unexpected difference.
        package var unexpected: Int64
        /// Number of rows that could not be compared.
        package var failed: Int64
        /// Number of App Store Server API calls in this run.
        package var calls: Int64
    }

    let options: ComparisonRunOptions
    let comparer: RowComparer
    let monitor: ComparisonMonitor
    /// Progress file; `nil` if there is no destination, because then nothing is stored.
    let ledger: ProgressFile?
    var source: any RowSource
    var progress: ComparisonProgress
    var output: LineOutput
    var rowsRead: Int64 = 0

    /// Returns limits for the source. A row may contain both sides, so it may be large. Files that the run writes are
    /// excluded from the source, which may be the directory that contains them.
    static func limits(_ options: ComparisonRunOptions) -> SourceLimits {
        var limits = SourceLimits()
        limits.row = 2 * ComparedAnswer.maximumSize
        for path in [options.destination, options.progressPath].compactMap({ $0 }) {
            limits.excludedPaths += Files.companions(of: path)
        }
        limits.excludedPaths += options.reports + options.reports.map { Files.draft(of: $0) }
        return limits
    }

    /// Opens the source, the progress file and the destination, or without one, `write` receives the differences as
    /// JSON lines.
    package init(
        _ options: ComparisonRunOptions, comparer: RowComparer, monitor: ComparisonMonitor,
        write: @escaping @Sendable ([UInt8]) -> Void
    ) throws(RunError) {
        self.options = options
        self.comparer = comparer
        self.monitor = monitor
        var rows = options.sourceOptions
        rows.wholeLineKeys = RecordedPair.keys
        (ledger, source, progress, output) = try running {
            for report in options.reports { try ReportFile.check(report, kinds: ComparisonReport.kinds) }
            // Open the source first if nothing is stored, so that a run that cannot start does not create a progress
            // file.
            let startsOver = options.isFresh || options.progressPath.map(Files.isEmptyOrMissing) ?? true
            let fresh = startsOver ? try Sources.open(options.source, options: rows, limits: Self.limits(options)) : nil
            let ledger = try Self.ledger(options)
            if let ledger, let progress = try ComparisonProgress.saved(in: ledger) {
                guard progress.options == rows else {
                    throw RunError.notPossible(
                        "--receipt-column, --id-column and --table have changed since the last run; use --fresh to start over"
                    )
                }
                let source = try Sources.open(
                    options.source, options: rows, limits: Self.limits(options), at: progress.position)
                let output = try LineOutput(path: options.destination, cutAt: progress.findings.bytes, write)
                return (ledger, source, progress, output)
            }
            let source =
                try fresh ?? Sources.open(options.source, options: rows, limits: Self.limits(options))
            let progress = ComparisonProgress(options: rows, identity: source.identity)
            let output = try LineOutput(path: options.destination, cutAt: 0, write)
            return (ledger, source, progress, output)
        }
    }

    /// Opens the progress file. Throws if the destination exists but does not belong to this comparison.
    private static func ledger(_ options: ComparisonRunOptions) throws -> ProgressFile? {
        guard let destination = options.destination, let path = options.progressPath else { return nil }
        let hasDestination = !Files.isEmptyOrMissing(destination)
        let foreignDestination = RunError.notPossible(
            "\(destination) exists, but does not belong to this comparison: \(path) is missing or empty")
        // If there is no progress file, do not create one for a destination that belongs to something else.
        guard !hasDestination || !Files.isEmptyOrMissing(path) else { throw foreignDestination }
        let ledger = try ProgressFile(path: path)
        // A run that failed while starting leaves a progress file without a checkpoint.
        guard try !hasDestination || ComparisonProgress.isSaved(in: ledger) else { throw foreignDestination }
        if options.isFresh {
            // Remove the destination first. Without a checkpoint, an existing destination would look like an
            // unrelated file.
            try Files.remove(destination)
            try ledger.removeAll()
        }
        return ledger
    }

    /// See ``RowSource/notices``; nothing if the run resumes.
    package var notices: [String] { source.notices }

    /// Runs until the end of the source or a limit, then writes the reports.
    package consuming func run() async throws(RunError) -> ComparisonEnding {
        let comparison = try running { try source.comparison(with: progress.identity) }
        switch comparison {
        case .same: break
        case .grown:
            guard !progress.hasCountedTail else {
                throw .notPossible(
                    "\(options.source) has grown after its last line was counted without a line break; use --fresh to start over"
                )
            }
            progress.identity = source.identity
            progress.isComplete = false
        case .changed(let reason):
            throw .anotherSource(options.source, reason: reason)
        }
        var stop: RunStop?
        if !progress.isComplete { stop = try await compareRows() }
        if stop == nil { stop = try await retryFailed() }
        let ending = ending(progress.findings, stop)
        try running { for path in options.reports { try ending.report.write(to: path) } }
        return ending
    }

    func stopReason() -> RunStop? {
        comparer.stop ?? options.limits.stop(after: rowsRead, isStopped: monitor.isStopped)
    }

    func show(_ findings: ComparisonProgress.Findings) {
        monitor.change {
            $0.rows = findings.rows
            $0.compared = findings.tally.compared
            $0.unexpected = findings.tally.compared - findings.tally.equal
            $0.failed = findings.tally.failed
            $0.calls = comparer.calls
            $0.fraction = source.fraction
        }
    }

    private func ending(_ findings: ComparisonProgress.Findings, _ stop: RunStop?) -> ComparisonEnding {
        let tally = findings.tally
        var report = tally.report(.run, title: Self.name(options.source), madeAt: .now)
        report.pairs = findings.samples.pairs
        if let stop {
            report.notes.append(
                "The run is not finished (stopped: \(stop.sentence)); run the same command again to resume.")
        }
        if !findings.retries.isEmpty {
            report.notes.append(
                "\(findings.retries.count) receipts had a temporary failure; the same command with --to retries them.")
        }
        if findings.forgottenRetries > 0 {
            let count = findings.forgottenRetries.grouped
            report.notes.append(
                "\(count) more receipts had a temporary failure and are not retried; --fresh compares all again.")
        }
        return ComparisonEnding(
            report: report, stop: stop, rows: findings.rows, compared: tally.compared,
            unexpected: tally.compared - tally.equal, failed: tally.failed, calls: comparer.calls)
    }

    private static func name(_ path: String) -> String {
        path == "-" ? "standard input" : String(path.split(separator: "/").last ?? "")
    }
}

/// Options of a comparison run.
package struct ComparisonRunOptions: Sendable {
    /// Path of the source, or `-` for standard input.
    package var source: String
    /// Path of the file for differences, one JSON line each. If `nil`, ``ComparisonRun``'s `write` receives them, and
    /// the run cannot be resumed.
    package var destination: String?
    package var sourceOptions = SourceOptions()
    /// Start over, even if there is a checkpoint to resume from.
    package var isFresh = false
    package var limits = RunLimits()
    package var workers: Int
    /// Time between checkpoints: the work that a crash can lose.
    package var checkpointInterval = Duration.seconds(1)
    package var reports: [String] = []
    /// Maximum number of receipts whose documents the report shows side by side.
    package var shownPairs = 40

    package init(source: String, workers: Int) {
        self.source = source
        self.workers = workers
    }

    /// Path of the progress file, next to the destination; `nil` if there is no destination.
    var progressPath: String? { destination.map { $0 + ".progress" } }
}
