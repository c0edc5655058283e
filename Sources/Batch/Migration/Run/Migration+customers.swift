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
        let environment = row.environment ?? ""
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
        monitor.show { $0.phase = .done }
        return ending
    }

    /// A queue of the customers of one app and environment that have not been looked up. There is one for each,
    /// because the hourly rate limit of one may be used up while others have calls left.
    private struct CustomerQueue {
        /// Key of the app and environment in the progress file.
        let scope: Int64
        /// Key, or place, of the last customer that was read.
        var last: Int64 = 0
        /// Customers that were read but not started, in reverse order.
        var next: [MigrationCustomer] = []
        var inFlight = 0
        var isAtEnd = false
        /// Places of customers in the order of their expiry dates that were read but not started, in reverse order;
        /// `nil` without that order.
        var nextByExpiry: [(place: Int64, key: Int64)]?

        /// Returns the next customer; `nil` at the end. Skips customers that were merged into another one in the
        /// meantime, because a history contained the ids of both.
        mutating func customer(from ledger: MigrationStore) throws(StorageError) -> MigrationCustomer? {
            if nextByExpiry != nil { return try customerByExpiry(from: ledger) }
            while true {
                if next.isEmpty {
                    next = try ledger.waitingCustomers(in: scope, after: last, limit: 256).reversed()
                }
                guard let customer = next.popLast() else { return nil }
                last = customer.key
                if try ledger.isWaiting(customer.key) { return customer }
            }
        }

        private mutating func customerByExpiry(from ledger: MigrationStore) throws(StorageError) -> MigrationCustomer? {
            while true {
                if nextByExpiry?.isEmpty == true {
                    nextByExpiry = try ledger.waitingCustomersByExpiry(in: scope, after: last, limit: 256).reversed()
                }
                guard let (place, key) = nextByExpiry?.popLast() else { return nil }
                last = place
                if let customer = try ledger.waitingCustomer(key) { return customer }
            }
        }
    }

    /// An event in the group of concurrent lookups.
    private enum Event: Sendable {
        case answer(queue: Int, customer: Int64, CustomerAnswer)
        /// Time to check for a stop condition, because a response can take an hour.
        case tick

        static func nextTick() async -> Event {
            try? await Task.sleep(for: .milliseconds(500))
            return .tick
        }
    }

    /// Number of consecutive failures after which the host or the key is considered the cause. A single call may fail
    /// by chance.
    private static let consecutiveFailureLimit = 12

    /// Looks up each customer once, several concurrently. Results are durable at each checkpoint.
    private mutating func lookUpCustomers(_ lookups: any CustomerLookupService) async throws(RunError) -> Stop? {
        monitor.show { $0.phase = .asking }
        do {
            return try await withThrowingTaskGroup(of: Event.self) { group in
                var stop: Stop?
                var queues = try ledger.scopes().map { CustomerQueue(scope: $0) }
                if options.isActiveFirst {
                    try ledger.orderCustomersByExpiry()
                    for index in queues.indices { queues[index].nextByExpiry = [] }
                }
                try show(lookups)
                var lastCommit = ContinuousClock.now
                var answered = 0
                var failing: (count: Int, stop: Stop?) = (0, nil)
                group.addTask { await Event.nextTick() }
                while true {
                    for queueIndex in queues.indices {
                        while stop == nil, !queues[queueIndex].isAtEnd,
                            queues[queueIndex].inFlight < options.workers * 8
                        {
                            // `--limit` is a limit on rows, not on customers.
                            if let reason = self.stop, reason != .rowLimit {
                                stop = reason
                            } else if let customer = try queues[queueIndex].customer(from: ledger) {
                                queues[queueIndex].inFlight += 1
                                group.addTask {
                                    .answer(
                                        queue: queueIndex, customer: customer.key, await lookups.lookUp(customer))
                                }
                            } else {
                                queues[queueIndex].isAtEnd = true
                            }
                        }
                    }
                    guard queues.contains(where: { $0.inFlight > 0 }), let event = try await group.next() else { break }
                    switch event {
                    case .tick:
                        try show(lookups)
                        group.addTask { await Event.nextTick() }
                    case .answer(let queueIndex, let key, let answer):
                        queues[queueIndex].inFlight -= 1
                        switch answer {
                        case .found(let finding):
                            try ledger.record(finding, of: key)
                            answered += 1
                            failing = (0, nil)
                        case .failing(let cause, let reason):
                            try ledger.record(.failed(reason: reason), of: key)
                            failing = (failing.count + 1, cause)
                            if failing.count == Self.consecutiveFailureLimit { stop = stop ?? cause }
                        case .cancelled: break
                        case .giveUp(let reason):
                            if stop == nil { notify(reason) }
                            stop = .refusedByAppStore
                        }
                    }
                    if lastCommit.duration(to: .now) >= options.checkpointInterval {
                        countCalls()
                        try progress.save(in: ledger)
                        lastCommit = .now
                    }
                    // Do not wait for lookups that wait for the hourly rate limit.
                    if stop == nil { stop = self.stop == .rowLimit ? nil : self.stop }
                    if stop != nil { group.cancelAll() }
                }
                group.cancelAll()
                try ledger.commit()
                return stop ?? (answered == 0 ? failing.stop : nil)
            }
        } catch {
            try running { throw error }
            return nil
        }
    }

    private func show(_ lookups: any CustomerLookupService) throws {
        let usage = lookups.usage
        let tally = try ledger.tally()
        monitor.show {
            $0.customers = tally
            $0.calls = usage.calls
            $0.budgetLeft = usage.left
        }
    }
}
