import ReceiptBridgeBase
package import ReceiptBridgeReceipts
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
    let options: SharedMigrationOptions
    let source: SplittableSource
    let reader: ReceiptReader
    let lookups: (any CustomerLookupService)?
    let monitor: MigrationMonitor
    let notify: @Sendable (String) -> Void
    let startTime = ContinuousClock.now
    let state = Mutex(State())

    struct State {
        /// Counts of the rows that this run has stored.
        var counts = MigrationCounts()
        var hasNamedRows = false
    }

    /// Opens the source. Nothing is read or written yet.
    ///
    /// - Parameters:
    ///   - lookups: looks up customers; `nil` without the App Store Server API.
    package init(
        _ options: SharedMigrationOptions, reader: ReceiptReader, lookups: (any CustomerLookupService)?,
        monitor: MigrationMonitor, notify: @escaping @Sendable (String) -> Void
    ) throws(RunError) {
        self.options = options
        self.reader = reader
        self.lookups = lookups
        self.monitor = monitor
        self.notify = notify
        source = try running {
            try SplittableSource(
                options.migration.source, options: options.migration.persisted.source,
                limits: options.migration.sourceLimits)
        }
    }

    /// Works until all chunks have ended and all customers are looked up, or until a limit.
    ///
    /// - Parameter store: the database.
    package func run(in store: any ImportStore) async throws(RunError) -> Migration.RunResult {
        for notice in source.notices { notify(notice) }
        let fingerprint = try running { try source.fingerprint() }
        let run = try await begin(fingerprint, in: store)
        let worker = ImportWorker(store, run: run.id, name: options.worker, lease: options.lease)
        let stop = try await worker.renewing { () async throws(RunError) -> Migration.Stop? in
            try await readChunks(worker)
            if let reason = self.stop { return reason }
            return try await finish(worker, startedAt: run.time)
        }
        return try await result(worker, stop: stop)
    }

    /// Opens the import. Inserts a missing one.
    private func begin(
        _ fingerprint: SourceIdentity, in store: any ImportStore
    ) async throws(RunError) -> ImportRun {
        do throws(StorageError) {
            if try await store.hasEarlierTables() {
                guard options.migration.isFresh else {
                    throw StorageError(
                        .changed, at: store.place,
                        "it has the tables of a migration by version 0.1.0 of receipt-bridge. Finish it with that "
                            + "version, or delete all of them with --fresh")
                }
                try await store.removeEarlierTables()
            }
            try await store.createViews(FlatTable.allCases.map { ($0.rawValue, $0.postgresqlView) })
            if options.migration.isFresh, try await !store.removeImport(options.name) {
                throw StorageError(
                    .locked, at: store.place,
                    "--fresh: other workers are running; stop them first, and start one with --fresh")
            }
        } catch {
            throw RunError(database: error)
        }
        let common = try running { try options.common(fingerprint) }
        let run: ImportRun
        do throws(StorageError) { run = try await store.beginImport(options.name, progress: common) } catch {
            throw RunError(database: error)
        }
        try options.check(run.progress, fingerprint, at: store.place)
        return run
    }

    /// Merges and looks up customers, if all chunks have ended.
    private func finish(_ worker: ImportWorker, startedAt: Int64) async throws(RunError) -> Migration.Stop? {
        let needsAll = options.migration.isPlan || lookups != nil
        while try await !tally(worker, .whole).isComplete {
            // The chunks of other shards are read by other workers.
            guard needsAll else { return nil }
            if let stop { return stop }
            try? await Task.sleep(for: .seconds(1))
        }
        if let stop = try await worker.resolve(stop: { self.stop }) { return stop }
        if options.migration.isPlan { return .planned }
        guard let lookups else { return nil }
        return try await worker.lookUpCustomers(
            lookups, options.migration, startedAt: startedAt, monitor, notify: notify, stop: { self.stop })
    }

    /// Returns how many chunks of a shard have ended.
    func tally(_ worker: ImportWorker, _ shard: ImportShard) async throws(RunError) -> ImportChunkTally {
        let run = worker.run
        let tally = try await worker.on { (store) throws(StorageError) in try await store.tally(of: run, shard) }
        guard let tally else {
            throw .notPossible("this migration was started over by another worker; run the same command again")
        }
        return tally
    }

    /// Reason to stop; `nil` if the run can continue.
    var stop: Migration.Stop? {
        options.migration.stop(after: state.withLock { $0.counts.rows }, since: startTime, monitor)
    }

    /// Returns the counts of the whole table, or of this worker's shard.
    private func result(_ worker: ImportWorker, stop: Migration.Stop?) async throws(RunError) -> Migration.RunResult {
        monitor.change { $0.phase = .done }
        let (run, shard) = (worker.run, options.shard)
        var result = Migration.RunResult(counts: try await counts(worker), stop: stop)
        result.rowsRead = state.withLock { $0.counts.rows }
        result.duration = startTime.duration(to: .now)
        guard let lookups else { return result }
        let found = try await worker.on { (store) throws(StorageError) in try await store.outcomes(of: run, shard) }
        var (outcomes, reasons): ([MigrationOutcome: Int64], [String: Int64]) = ([:], [:])
        for row in found {
            guard let outcome = MigrationOutcome(rawValue: row.outcome) else { continue }
            outcomes[outcome, default: 0] += row.count
            if let reason = row.reason { reasons[reason, default: 0] += row.count }
        }
        result.counts.replace(outcomes: outcomes, reasons: reasons)
        let scopes = try await worker.scopes(of: lookups).map(\.id)
        result.customers = try await worker.tally(scopes)
        let name = options.name
        (result.activeCustomers, result.history.calls) = try await worker.on { (store) throws(StorageError) in
            let now = try await store.existingImport(name)
            return (try await store.activeCustomers(of: run, scopes, at: now?.time ?? 0), now?.calls ?? 0)
        }
        return result
    }

    /// Returns the sum of the counts of all ended chunks of a shard.
    private func counts(_ worker: ImportWorker) async throws(RunError) -> MigrationCounts {
        var sum = MigrationCounts()
        let (run, shard) = (worker.run, options.shard)
        var last: Int64 = -1
        while true {
            let chunks = try await worker.on { [last] (store) throws(StorageError) in
                try await store.counts(of: run, shard, after: last)
            }
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
