import ReceiptBridgeBase
import Foundation
import ReceiptBridgeComparison
package import ReceiptBridgeStorage
import Synchronization

/// One worker of a migration into PostgreSQL. Any number of them, on any machines, run the same command.
///
/// 1. One worker divides the source into chunks. All of them take chunks with leases, decode their rows and store them.
///    The rows of a chunk and its mark are one transaction, so that each row is stored exactly once.
/// 2. After the last chunk, one worker merges the customers that are the same.
/// 3. With the Server API, one worker looks up the customers. Another one takes over if it stops.
///
/// If a worker is killed, others take its work over when its leases expire.
package final class SharedMigration: Sendable {
    let context: MigrationContext
    let source: SplittableSource
    let state = Mutex(State())

    struct State {
        /// Counts of the rows that this run has stored.
        var counts = MigrationCounts()
        var hasNamedRows = false
    }

    /// What all workers must have in common.
    private struct Common: Codable {
        var options: MigrationOptions.PersistedOptions
        let fingerprint: SourceIdentity
    }

    var options: MigrationOptions { context.options }
    /// The name of the import: the last part of the path, because the path can differ from machine to machine.
    private var name: String { options.source.split(separator: "/").last.map(String.init) ?? options.source }

    /// Opens the source. Nothing is read or written yet.
    package init(_ context: MigrationContext) throws(RunError) {
        self.context = context
        source = try running {
            try SplittableSource(
                context.options.source, options: context.options.persisted.source, limits: context.options.sourceLimits)
        }
    }

    /// Works until all chunks have ended and all customers are looked up, or until a limit.
    ///
    /// - Parameter store: the database.
    package func run(in store: any ImportStore) async throws(RunError) -> MigrationResult {
        for notice in source.notices { context.notify(notice) }
        let run: ImportRun
        do { run = try await begin(in: store) } catch {
            throw (error as? StorageError).map { RunError(database: $0) } ?? RunError(of: error)
        }
        let worker = ImportWorker(store, run: run.id, context, patience: .seconds(60))
        let stop = try await worker.renewing { () async throws(RunError) -> RunStop? in
            try await readChunks(worker)
            if let reason = self.stop { return reason }
            return try await finish(worker, startedAt: run.time)
        }
        return try await result(worker, stop: stop)
    }

    /// Opens the import. Inserts a missing one.
    private func begin(in store: any ImportStore) async throws -> ImportRun {
        var common = Common(options: options.persisted, fingerprint: try source.fingerprint())
        // An offline migration can be continued with the Server API, because its customers are stored either way.
        common.options.withAPI = false
        if try await store.hasEarlierTables() {
            guard options.isFresh else {
                throw StorageError(
                    .changed, at: store.place,
                    "it has the tables of a migration by version 0.1.0 of receipt-bridge. Finish it with that "
                        + "version, or delete all of them with --fresh")
            }
            try await store.removeEarlierTables()
        }
        try await store.createViews(FlatTable.allCases.map { ($0.rawValue, $0.postgresqlView) })
        if options.isFresh, try await !store.removeImport(name) {
            throw StorageError(
                .locked, at: store.place,
                "--fresh: other workers are running; stop them first, and start one with --fresh")
        }
        let json = String(decoding: try JSONEncoder().encode(common), as: UTF8.self)
        let run = try await store.beginImport(name, progress: json)
        guard let earlier = try? JSONDecoder().decode(Common.self, from: Data(run.progress.utf8)) else {
            throw RunError.notPossible("the migration \(name) in the database \(store.place) is damaged")
        }
        if let difference = common.fingerprint.difference(from: earlier.fingerprint) {
            throw RunError.anotherSource(options.source, reason: difference)
        }
        try common.options.check(earlier.options)
        return run
    }

    /// Merges and looks up customers, if all chunks have ended.
    private func finish(_ worker: ImportWorker, startedAt: Int64) async throws(RunError) -> RunStop? {
        let needsAll = options.isPlan || context.lookups != nil
        while try await !tally(worker, .whole).isComplete {
            // The chunks of other shards are read by other workers.
            guard needsAll else { return nil }
            if let stop { return stop }
            try? await Task.sleep(for: .seconds(1))
        }
        if let stop = try await worker.resolve() { return stop }
        if options.isPlan { return .planned }
        guard let lookups = context.lookups else { return nil }
        return try await worker.lookUpCustomers(lookups, startedAt: startedAt)
    }

    /// Returns how many chunks of a shard have ended.
    func tally(_ worker: ImportWorker, _ shard: ImportShard) async throws(RunError) -> ImportChunkTally {
        guard let tally = try await worker.on(try await worker.store.tally(of: worker.run, shard)) else {
            throw .notPossible("this migration was started over by another worker; run the same command again")
        }
        return tally
    }

    /// Reason to stop reading; `nil` if the run can continue.
    var stop: RunStop? { context.stop(after: state.withLock { $0.counts.rows }) }

    /// Returns the counts of the whole table, or of this worker's shard.
    private func result(_ worker: ImportWorker, stop: RunStop?) async throws(RunError) -> MigrationResult {
        context.monitor.change { $0.phase = .done }
        let (store, run, shard) = (worker.store, worker.run, options.shard)
        var result = MigrationResult(counts: try await counts(worker), stop: stop)
        result.rowsRead = state.withLock { $0.counts.rows }
        result.duration = options.limits.timePassed
        let rows = try await worker.on(try await store.countOfRows(of: run, shard))
        result.rowsMissing = max(result.counts.rows - rows, 0)
        if result.rowsMissing > 0 {
            context.notify(
                "\(result.rowsMissing.grouped) of \(result.counts.rows.grouped) rows are missing in the database: "
                    + "retention or forget has deleted them. --fresh reads the source again")
        }
        guard let lookups = context.lookups else { return result }
        let found = try await worker.on(try await store.outcomes(of: run, shard))
        var (outcomes, reasons): ([MigrationOutcome: Int64], [String: Int64]) = ([:], [:])
        for row in found {
            guard let outcome = MigrationOutcome(rawValue: row.outcome) else { continue }
            outcomes[outcome, default: 0] += row.count
            if let reason = row.reason { reasons[reason, default: 0] += row.count }
        }
        result.counts.replace(outcomes: outcomes, reasons: reasons)
        let scopes = try await worker.scopes(of: lookups).map(\.id)
        result.customers = try await worker.tally(scopes)
        let now = try await worker.on(try await store.existingImport(self.name))
        result.activeCustomers = try await worker.on(
            try await store.activeCustomers(of: run, scopes, at: now?.time ?? 0))
        result.history.calls = now?.calls ?? 0
        return result
    }

    /// Returns the sum of the counts of all ended chunks of a shard.
    private func counts(_ worker: ImportWorker) async throws(RunError) -> MigrationCounts {
        var sum = MigrationCounts()
        let (store, run, shard) = (worker.store, worker.run, options.shard)
        var last: Int64 = -1
        while true {
            let start = last
            let chunks = try await worker.on(try await store.counts(of: run, shard, after: start))
            guard let end = chunks.last else { return sum }
            for (number, text) in chunks {
                guard let counts = try? StoredJSON.decode(MigrationCounts.self, from: Array(text.utf8)) else {
                    throw .notPossible(
                        "the counts of chunk \(number) in the database \(worker.store.place) are damaged")
                }
                sum.add(counts)
            }
            last = end.number
        }
    }
}
