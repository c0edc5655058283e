import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage

/// One run of a migration. It resumes from the checkpoint of the previous run, if there is one, and ends at the end
/// of the source or at a limit.
///
/// Without the App Store Server API, rows are read, decoded and written. With it, there are three stages: all rows
/// are read, decoded and staged in the progress file, which groups their ids by customer; each customer is looked up
/// once; the result is written from the progress file, which is a store.
///
/// Each row of the source has exactly one row in the result, even if the process crashes: output after the last
/// checkpoint is discarded by the next run, and its rows are processed again.
package struct Migration {
    let context: MigrationContext
    let file: ImportFile
    let worker: ImportWorker
    /// `true` if the destination, if it exists, is from an earlier run of this migration.
    let isDestinationOurs: Bool
    /// The start of this run by the clock of the store.
    let startedAt: Int64
    var source: any RowSource
    var progress: MigrationProgress
    /// Number of rows that this run has read from the source.
    var rowsRead: Int64 = 0
    /// Number of customers whose account tokens could not be set in this run.
    var customersWithoutToken: Int64 = 0

    var options: MigrationOptions { context.options }
    var lookups: (any CustomerLookupService)? { context.lookups }
    var monitor: MigrationMonitor { context.monitor }

    /// Opens the source and the progress file. Nothing else is read or written yet.
    package init(_ context: MigrationContext) async throws(RunError) {
        self.context = context
        let options = context.options
        for report in options.reports { try reporting { try MigrationReport.check(report) } }
        try Self.check(options.tables, options)
        let foreignDestination = RunError.notPossible(
            "\(options.destination) exists, but does not belong to this migration: \(options.progressPath) is missing or empty"
        )
        // If there is no progress file, do not create one for a destination that belongs to something else.
        guard Files.isEmptyOrMissing(options.destination) || !Files.isEmptyOrMissing(options.progressPath) else {
            throw foreignDestination
        }
        guard Files.isRegularOrMissing(options.destination) else {
            throw .notPossible("\(options.destination) is not a regular file")
        }
        _ = try running { try ResultWriters.format(of: options.destination, options.persisted.resultFormat) }
        let isNew: Bool
        var fresh: (any RowSource)?
        do {
            if options.isFresh { fresh = try await Self.startOver(options) }
            isNew = Files.isEmptyOrMissing(options.progressPath)
            file = try ImportFile(options.progressPath)
        } catch {
            throw RunError(of: error)
        }
        do {
            // A run that failed while starting leaves a progress file without a checkpoint.
            let known = try await file.store.existingImport("")
            guard known != nil || Files.isEmptyOrMissing(options.destination) else { throw foreignDestination }
            let run: ImportRun
            (source, progress, run) = try await Self.begin(options, file, known, fresh)
            isDestinationOurs = known != nil
            worker = ImportWorker(file.store, run: run.id, context)
            startedAt = run.time
            progress.history.calls = run.calls
        } catch {
            await file.close()
            // The file is removed while it has no checkpoint, because another process may be waiting for it.
            if isNew, (try? ImportFile.content(of: options.progressPath)) == .imports(hasRun: false) {
                try? Files.remove(options.progressPath)
            }
            throw RunError(of: error)
        }
    }

    private static func open(
        _ options: MigrationOptions, at position: SourcePosition?
    ) throws(SourceError) -> any RowSource {
        try Sources.open(
            options.source, options: options.persisted.source, limits: options.sourceLimits, at: position)
    }

    /// Deletes the result and the progress of earlier runs.
    ///
    /// - Returns: The source, which is opened first, so that nothing is deleted if it cannot be read; `nil` if there is
    ///   no progress.
    private static func startOver(_ options: MigrationOptions) async throws -> (any RowSource)? {
        switch try ImportFile.content(of: options.progressPath) {
        case .none, .other, .imports(hasRun: false): return nil
        case .earlier: break
        // Unless another process has it open.
        case .imports(hasRun: true): await (try ImportFile(options.progressPath)).close()
        }
        let source = try open(options, at: nil)
        // The destination first: without the checkpoint, a later run could not detect that it belongs to this
        // migration.
        try Files.remove(options.destination)
        try Files.remove(options.progressPath)
        return source
    }

    /// Opens the source at the position where the previous run ended, or at its beginning.
    private static func begin(
        _ options: MigrationOptions, _ file: ImportFile, _ known: ImportRun?, _ fresh: (any RowSource)?
    ) async throws -> (any RowSource, MigrationProgress, ImportRun) {
        if let known {
            let progress = try MigrationProgress(known.progress)
            try options.persisted.check(progress.options)
            return (try open(options, at: progress.checkpoint.source), progress, known)
        }
        let source = try fresh ?? open(options, at: nil)
        let progress = MigrationProgress(options: options.persisted, identity: source.identity)
        // Stored before the destination is written: it proves that the destination belongs to this migration.
        return (source, progress, try await file.store.beginImport("", progress: try progress.json))
    }

    /// Runs until the end or a limit, then writes the flat tables if everything is done, and the reports.
    package consuming func run() async throws(RunError) -> MigrationResult {
        let file = file
        var migration = self
        let result: Result<MigrationResult, RunError> = await Result { () async throws(RunError) in
            try await migration.worker.renewing { () async throws(RunError) in try await migration.all() }
        }
        await file.close()
        return try result.get()
    }

    private mutating func all() async throws(RunError) -> MigrationResult {
        if progress.checkpoint.counts.rows == 0 { for notice in source.notices { context.notify(notice) } }
        var ending = try await work()
        if ending.stop == nil { try writeTables() }
        if options.persisted.withAPI, ending.customers == nil { ending.customers = try await tally() }
        ending.history = progress.history
        ending.rowsRead = rowsRead
        ending.duration = options.limits.timePassed
        let report = MigrationReport(options: options, ending: ending)
        for path in options.reports {
            try reporting {
                try report.write(to: path) { row, limit in
                    try file.store.refusedRows(of: worker.run, after: row, limit: limit) {
                        (row) throws(StorageError) in
                        Refusal(
                            row: try row.rowID(0), id: try row.text(1), code: try row.text(2), place: try row.text(3),
                            reason: try row.text(4))
                    }
                }
            }
        }
        return ending
    }

    /// Returns the numbers of customers by state.
    func tally() async throws(RunError) -> CustomerTally {
        try await worker.tally(try await worker.scopes().map(\.id))
    }

    /// Stores the progress.
    func save() async throws(RunError) {
        let (worker, json) = (worker, try running { try progress.json })
        try await worker.on(try await worker.store.save(progress: json, of: worker.run))
    }

    /// Compares the source with that of the earlier runs, then runs if there is something to do.
    private mutating func work() async throws(RunError) -> MigrationResult {
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
                context.notify("the source has grown; resuming after row \(progress.checkpoint.counts.rows)")
                progress.whole = nil
                progress.isFinished = false
            }
            progress.identity = source.identity
        case .changed(let reason):
            throw .anotherSource(options.source, reason: reason)
        }
        progress.history.begin(at: .now)
        let earlierCalls = progress.history.calls
        let ending = try await workOn()
        progress.history.end(at: .now)
        progress.history.calls = earlierCalls + (lookups?.usage.calls ?? 0)
        try await worker.count(lookups?.usage.calls ?? 0)
        try await save()
        return ending
    }

    /// Runs with or without the App Store Server API.
    private mutating func workOn() async throws(RunError) -> MigrationResult {
        monitor.change { [progress, source] in
            $0.fraction = source.fraction
            $0.earlierFraction = source.fraction ?? 0
            $0.counts = progress.whole ?? progress.checkpoint.counts
            $0.earlierRows = progress.checkpoint.counts.rows
        }
        return options.persisted.withAPI ? try await runWithAPI() : try await runOffline()
    }

    func ending(stop: RunStop?, wasFinished: Bool = false) -> MigrationResult {
        var ending = MigrationResult(counts: progress.whole ?? progress.checkpoint.counts, stop: stop)
        ending.wasFinished = wasFinished
        ending.customersWithoutToken = customersWithoutToken
        return ending
    }
}
