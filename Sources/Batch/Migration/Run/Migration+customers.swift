import ReceiptBridgeBase
import ReceiptBridgeStorage

extension Migration {
    /// Stores all rows, looks up the customers, then writes the result.
    mutating func runWithAPI() async throws(RunError) -> MigrationResult {
        guard let lookups else { throw .notPossible("--with-api needs a configuration with an app that has a key") }
        let (worker, store, run) = (worker, file.store, worker.run)
        if options.isRefresh, !options.isPlan, !progress.isRefreshing {
            progress.isRefreshing = true
            progress.isFinished = false
            let json = try running { try progress.json }
            try await worker.on(try await store.refreshCustomers(of: run, progress: json))
        }
        try await worker.on(try await store.retryFailedCustomers(of: run, before: .max))
        var ids = FingerprintSet()
        var stop = try await readRows(
            isLookedUp: true, prepare: { ids = try Self.storedIds(of: run, in: store) },
            write: { try ids.insert($0.result.id) ? .written : .repeatedId }, position: { .start })
        try await worker.on(try await store.reopen(.resolve, of: run))
        _ = try await worker.resolve(canStop: false)
        if options.isPlan { return try await ending(stop: stop ?? .planned, writes: false) }
        if stop == nil || stop == .limit {
            stop = try await worker.lookUpCustomers(lookups, startedAt: startedAt) ?? stop
        }
        if stop == nil { stop = try await linkAccounts(lookups) }
        return try await ending(stop: stop, writes: true)
    }

    /// Returns the ids of all stored rows.
    private static func storedIds(of run: Int64, in store: SQLiteStore) throws -> FingerprintSet {
        let ids = FingerprintSet()
        var last: Int64 = 0
        while true {
            let rows = try store.importedIds(of: run, after: last)
            guard let end = rows.last else { return ids }
            for row in rows { _ = try ids.insert(row.id) }
            last = end.row
        }
    }

    /// Writes the result unless the run is a plan, and saves the progress.
    private mutating func ending(stop: RunStop?, writes: Bool) async throws(RunError) -> MigrationResult {
        let (worker, store, run) = (worker, file.store, worker.run)
        let tally = try await tally()
        var ending = ending(stop: stop)
        ending.customers = tally
        if options.isPlan {
            let scopes = try await worker.scopes().map(\.id)
            ending.activeCustomers = try await worker.on(
                try await store.activeCustomers(of: run, scopes, at: Timestamp.now.milliseconds))
        }
        guard writes else { return ending }
        (ending.counts, progress.result) = try writeResult()
        let stale = try await worker.on(try await store.staleCustomers(of: run))
        if stale > 0 {
            context.notify(
                "\(stale) customers could not be refreshed: their existing data is kept, "
                    + "and the next run retries them"
            )
        }
        progress.isFinished = stop == nil && tally.waiting == 0 && tally.failed == 0
        if stop == nil, tally.waiting == 0 { progress.isRefreshing = false }
        if progress.whole != nil { progress.whole = ending.counts }
        try await save()
        monitor.change { $0.phase = .done }
        return ending
    }
}
