import Base
import Reports
import Storage

extension Migration {
    /// Stages all rows, looks up the customers, then writes the result.
    mutating func runWithAPI() async throws(RunError) -> RunResult {
        guard let lookups else { throw .notPossible("--with-api needs a configuration with an app that has a key") }
        let ledger = ledger
        try running {
            if options.isRefresh, !options.isPlan, !progress.isRefreshing {
                try ledger.refreshCustomers()
                progress.isRefreshing = true
                progress.isFinished = false
                try progress.save(in: ledger)
            }
            try ledger.retryFailedCustomers()
        }
        var stop = try await readRows(
            write: { row in
                let isHandled = row.bundleId.map(lookups.handles) ?? false
                let customer = isHandled ? try Self.customer(of: row, in: ledger) : nil
                let staged = StagedRow(row: row.number, id: row.id, customer: customer, result: try row.encoded)
                return try ledger.stage(staged) ? .written : .repeatedId
            }, checkpoint: { .start })
        if options.isPlan { return try ending(stop: stop ?? .planned, writes: false) }
        if stop == nil || stop == .rowLimit { stop = try await lookUpCustomers(lookups) ?? stop }
        if stop == nil { stop = try await linkAccounts(lookups) }
        return try ending(stop: stop, writes: true)
    }

    /// Returns the customer of a row; `nil` if the row has nothing to look up.
    private static func customer(of row: DecodedRow, in ledger: MigrationStore) throws(StorageError) -> Int64? {
        guard let bundleId = row.bundleId else { return nil }
        let environment = row.lookupEnvironment
        if let download = row.downloadIdentifier {
            return try ledger.customer(ofDownload: download, bundleId: bundleId, environment: environment)
        }
        guard !row.identifiers.isEmpty else { return nil }
        guard row.verified else {
            return try ledger.claimedCustomer(of: row.identifiers, bundleId: bundleId, environment: environment)
        }
        // A text that is not a UUID is kept, so that it is counted when tokens are set.
        let token = row.accountToken.map { AccountToken($0)?.text ?? $0 }
        return try ledger.customer(
            of: row.identifiers, bundleId: bundleId, environment: environment, accountToken: token)
    }

    /// Writes the result unless the run is a plan, and saves the progress.
    private mutating func ending(stop: Stop?, writes: Bool) throws(RunError) -> RunResult {
        let tally = try running { try ledger.tally() }
        var ending = ending(stop: stop)
        ending.customers = tally
        if options.isPlan {
            ending.activeCustomers = try running { try ledger.activeCustomers(at: Timestamp.now.milliseconds) }
        }
        guard writes else { return ending }
        (ending.counts, progress.result) = try writeResult()
        let stale = try running { try ledger.staleCustomers() }
        if stale > 0 {
            notify(
                "\(stale) customers could not be refreshed: their existing data is kept, "
                    + "and the next run retries them"
            )
        }
        try running {
            progress.isFinished = stop == nil && tally.waiting == 0 && tally.failed == 0
            if stop == nil, tally.waiting == 0 { progress.isRefreshing = false }
            if progress.whole != nil { progress.whole = ending.counts }
            try progress.save(in: ledger)
        }
        monitor.change { $0.phase = .done }
        return ending
    }

    /// The customers of one app and environment that have not been looked up.
    private struct CustomerQueue {
        /// Key of the app and environment in the progress file.
        let scope: Int64
        let isOrderedByExpiry: Bool
        /// Place of the last customer that was started.
        var last: Int64 = 0
        /// Places and keys of customers that were read but not started, in reverse order.
        var next: [(place: Int64, key: Int64)] = []

        /// Returns the next customer; `nil` at the end. Skips customers that were merged into another one in the
        /// meantime, because a history contained the ids of both.
        mutating func customer(from ledger: MigrationStore) throws(StorageError) -> MigrationCustomer? {
            while true {
                if next.isEmpty {
                    next = try ledger.waitingCustomers(
                        in: scope, byExpiry: isOrderedByExpiry, after: last, limit: 256
                    ).reversed()
                }
                guard let (place, key) = next.popLast() else { return nil }
                last = place
                if let customer = try ledger.waitingCustomer(key) { return customer }
            }
        }
    }

    /// Looks up each customer once, several concurrently. Results are durable at each checkpoint.
    private mutating func lookUpCustomers(_ lookups: any CustomerLookupService) async throws(RunError) -> Stop? {
        monitor.change { $0.phase = .asking }
        var lastCommit = ContinuousClock.now
        func checkpoint() throws {
            guard lastCommit.duration(to: .now) >= options.checkpointInterval else { return }
            countCalls()
            try progress.save(in: ledger)
            lastCommit = .now
        }
        do {
            if options.isActiveFirst { try ledger.orderCustomersByExpiry() }
            try show(lookups)
            // Receipts first: afterwards ids without a receipt may be known to be those of the same customers.
            for isKnown in [true, false] {
                var queues = try ledger.scopes(withEnvironment: isKnown).map {
                    CustomerQueue(scope: $0, isOrderedByExpiry: options.isActiveFirst)
                }
                let run = CustomerLookups(
                    service: lookups, concurrency: options.workers * 8, mayCoincide: !isKnown, notify: notify)
                let end = try await run.run(
                    queues: queues.count, next: { try queues[$0].customer(from: ledger) },
                    record: { result, customer, _ in
                        let hasMerged = try result.map { try ledger.record($0, of: customer.key) } ?? false
                        try checkpoint()
                        return hasMerged
                    },
                    tick: {
                        try show(lookups)
                        try checkpoint()
                    },
                    // `--limit` is a limit on rows, not on customers.
                    reason: { stop == .rowLimit ? nil : stop.map { .stopped($0) } })
                try ledger.commit()
                if case .stopped(let stop) = end { return stop }
            }
            return nil
        } catch {
            throw RunError(of: error)
        }
    }

    private func show(_ lookups: any CustomerLookupService) throws {
        let usage = lookups.usage
        let tally = try ledger.tally()
        monitor.change {
            $0.customers = tally
            $0.calls = usage.calls
            $0.budgetLeft = usage.left
        }
    }
}
