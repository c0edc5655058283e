import Base
import Foundation
package import PostgreSQLClient
package import ReceiptInspection
import Reports
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
    let database: MigrationDatabase
    let startTime = ContinuousClock.now
    let state = Mutex(State())

    struct State {
        var works: Set<WorkLease> = []
        var chunks: Set<ChunkLease> = []
        /// Counts of the rows that this run has stored.
        var counts = MigrationCounts()
        var scopes: [[String]: Int64] = [:]
        var hasNamedRows = false
    }

    /// Opens the source. Nothing is read or written yet.
    ///
    /// - Parameters:
    ///   - client: a client of the database, with at least two connections more than there are workers.
    ///   - place: hosts and database, for messages.
    ///   - lookups: looks up customers; `nil` without the App Store Server API.
    package init(
        _ options: SharedMigrationOptions, client: PostgreSQLClient, place: String, reader: ReceiptReader,
        lookups: (any CustomerLookupService)?, monitor: MigrationMonitor, notify: @escaping @Sendable (String) -> Void
    ) throws(RunError) {
        self.options = options
        self.reader = reader
        self.lookups = lookups
        self.monitor = monitor
        self.notify = notify
        database = MigrationDatabase(client: client, place: place, worker: options.worker, lease: options.lease)
        source = try running {
            try SplittableSource(
                options.migration.source, options: options.migration.persisted.source,
                limits: options.migration.sourceLimits)
        }
    }

    /// Works until all chunks have ended and all customers are looked up, or until a limit.
    package func run() async throws(RunError) -> Migration.RunResult {
        for notice in source.notices { notify(notice) }
        let fingerprint = try running { try source.fingerprint() }
        try await database.open()
        let migration = try await database.begin(options, fingerprint)
        let startedAt = try await database.now()
        let heartbeat = Task { await self.renewLeases() }
        defer { heartbeat.cancel() }
        var stop: Migration.Stop?
        do throws(RunError) {
            try await readChunks(of: migration)
            stop = self.stop
            if stop == nil { stop = try await finish(migration, startedAt: startedAt) }
        } catch {
            await releaseAll()
            throw error
        }
        await releaseAll()
        return try await result(of: migration, stop: stop)
    }

    /// Merges and looks up customers, if all chunks have ended.
    private func finish(_ migration: Int64, startedAt: Int64) async throws(RunError) -> Migration.Stop? {
        let needsAll = options.migration.isPlan || lookups != nil
        while try await !database.tally(of: migration, .whole).isComplete {
            // The chunks of other shards are read by other workers.
            guard needsAll else { return nil }
            if let stop { return stop }
            try? await Task.sleep(for: .seconds(1))
        }
        while try await !database.isResolved(migration) {
            if let stop { return stop }
            if let lease = try await claim(.resolve, of: migration) {
                if try await !database.isResolved(migration) { try await database.resolve(lease) }
                await release(lease)
            } else {
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
        if options.migration.isPlan { return .planned }
        guard let lookups else { return nil }
        return try await lookUpCustomers(of: migration, lookups, startedAt: startedAt)
    }

    /// Reason to stop; `nil` if the run can continue.
    var stop: Migration.Stop? {
        options.migration.stop(after: state.withLock { $0.counts.rows }, since: startTime, monitor)
    }

    /// Returns the counts of the whole table, or of this worker's shard.
    private func result(of migration: Int64, stop: Migration.Stop?) async throws(RunError) -> Migration.RunResult {
        monitor.change { $0.phase = .done }
        var result = Migration.RunResult(counts: try await database.counts(of: migration, options.shard), stop: stop)
        result.rowsRead = state.withLock { $0.counts.rows }
        result.duration = startTime.duration(to: .now)
        guard let lookups else { return result }
        let outcomes = try await database.outcomes(of: migration, options.shard)
        result.counts.replace(outcomes: outcomes.outcomes, reasons: outcomes.reasons)
        let scopes = try await database.scopes().filter { lookups.handles($0.bundleId) }
        result.customers = try await database.tally(of: migration, scopes.map(\.id))
        result.activeCustomers = try await database.activeCustomers(of: migration, scopes.map(\.id))
        result.history.calls = try await database.calls(of: migration)
        return result
    }
}

// MARK: - Leases

extension SharedMigration {
    func claim(_ work: SharedWork, of migration: Int64) async throws(RunError) -> WorkLease? {
        let lease = try await database.claim(work, of: migration)
        if let lease { state.withLock { _ = $0.works.insert(lease) } }
        return lease
    }

    func release(_ lease: WorkLease) async {
        state.withLock { _ = $0.works.remove(lease) }
        try? await database.release(lease)
    }

    /// Whether this worker still has a lease, as far as it knows.
    func holds(_ lease: WorkLease) -> Bool { state.withLock { $0.works.contains(lease) } }

    private func releaseAll() async {
        let (works, chunks) = state.withLock { state in
            defer { (state.works, state.chunks) = ([], []) }
            return (state.works, state.chunks)
        }
        for lease in works { try? await database.release(lease) }
        for lease in chunks { try? await database.release(lease) }
    }

    /// Extends the leases of this worker until the task is canceled, three times within their duration.
    private func renewLeases() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: options.lease / 3)
            let (works, chunks) = state.withLock { (Array($0.works), Array($0.chunks)) }
            guard !works.isEmpty || !chunks.isEmpty, let kept = try? await database.renew(works, chunks: chunks) else {
                continue
            }
            state.withLock {
                $0.works.subtract(Set(works).subtracting(kept.0))
                $0.chunks.subtract(Set(chunks).subtracting(kept.1))
            }
        }
    }
}
