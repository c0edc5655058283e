import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeStorage

extension ImportWorker {
    /// The customers of one app and environment that have not been looked up.
    private struct CustomerQueue {
        let scope: Int64
        /// The scopes of the app.
        let related: [Int64]
        /// Customers that were read but not started, in reverse order.
        var next: [ImportedCustomer] = []
        var inFlight: Set<Int64> = []
    }

    /// Looks up each customer once, several concurrently, or waits while another worker does, and takes over if that
    /// one stops.
    ///
    /// - Parameters:
    ///   - startedAt: Customers whose lookup failed before this time are looked up again.
    ///   - stop: Returns the reason to stop; `nil` to continue. `--limit` is a limit on rows, not on customers.
    func lookUpCustomers(
        _ lookups: any CustomerLookupService, _ options: MigrationOptions, startedAt: Int64,
        _ monitor: MigrationMonitor, notify: @escaping @Sendable (String) -> Void, stop: () -> Migration.Stop?
    ) async throws(RunError) -> Migration.Stop? {
        monitor.change { $0.phase = .asking }
        let run = run
        let handled = try await scopes(of: lookups)
        let ids = handled.map(\.id)
        while true {
            if let stop = stop(), stop != .rowLimit { return stop }
            monitor.change { [tally = try await tally(ids)] in $0.customers = tally }
            let isWaiting = try await on { (store) throws(StorageError) in
                try await store.hasWaitingCustomers(of: run, in: ids, failedBefore: startedAt)
            }
            guard isWaiting else { return nil }
            guard let lease = try await claim(.ask) else {
                try? await Task.sleep(for: min(.seconds(2), duration / 4))
                continue
            }
            try await on { (store) throws(StorageError) in
                try await store.retryFailedCustomers(of: run, before: startedAt)
            }
            // Receipts first: afterwards ids without a receipt may be known to be those of the same customers.
            var end = CustomerLookups.End.done
            for hasEnvironment in [true, false] {
                guard case .done = end else { break }
                let queues = handled.filter { $0.hasEnvironment == hasEnvironment }.map { scope in
                    CustomerQueue(
                        scope: scope.id, related: handled.filter { $0.bundleId == scope.bundleId }.map(\.id))
                }
                let calls = CustomerLookups(
                    service: lookups, concurrency: options.workers * 8, mayCoincide: !hasEnvironment, notify: notify)
                end = try await ask(
                    queues, calls, isActiveFirst: options.isActiveFirst, tally: try await tally(ids), lease, monitor,
                    stop: stop)
            }
            await release(lease)
            if case .stopped(let stop) = end { return stop }
        }
    }

    /// Returns the apps and environments whose customers can be looked up.
    func scopes(of lookups: any CustomerLookupService) async throws(RunError) -> [ImportScope] {
        try await on { [run] (store) throws(StorageError) in try await store.scopes(of: run) }
            .filter { lookups.handles($0.bundleId) }
    }

    /// Returns the numbers of customers by state.
    func tally(_ scopes: [Int64]) async throws(RunError) -> CustomerTally {
        let counts = try await on { [run] (store) throws(StorageError) in try await store.tally(of: run, scopes) }
        var tally = CustomerTally()
        for (state, count) in counts { tally[keyPath: state.count] = count }
        return tally
    }

    private func ask(
        _ queues: [CustomerQueue], _ calls: CustomerLookups, isActiveFirst: Bool, tally: CustomerTally,
        _ lease: ImportLease, _ monitor: MigrationMonitor, stop: () -> Migration.Stop?
    ) async throws(RunError) -> CustomerLookups.End {
        var (queues, tally) = (queues, tally)
        var merged: Set<Int64> = []
        do {
            let end = try await calls.run(
                queues: queues.count,
                next: { try await next(&queues[$0], isActiveFirst, except: merged) },
                record: { result, customer, queue in
                    var others: [Int64] = []
                    if let result, !merged.contains(customer.key) {
                        let related = queues[queue].related
                        others = try await on { (store) throws(StorageError) in
                            try await store.record(result, of: customer, related, lease)
                        }
                        merged.formUnion(others)
                        tally.waiting -= 1 + Int64(others.count)
                        tally[keyPath: result.state.count] += 1
                    }
                    queues[queue].inFlight.remove(customer.key)
                    return !others.isEmpty
                },
                tick: {
                    let usage = calls.service.usage
                    try await count(usage.calls)
                    monitor.change { [tally] in
                        ($0.customers, $0.calls, $0.budgetLeft) = (tally, usage.calls, usage.left)
                    }
                },
                reason: {
                    if let stop = stop(), stop != .rowLimit { return .stopped(stop) }
                    return holds(lease) ? nil : .lostLease
                })
            try await count(calls.service.usage.calls)
            return end
        } catch {
            throw runError(error)
        }
    }

    /// Returns the next customer of a queue; `nil` at the end. Skips customers that were merged into another one in the
    /// meantime, because a history contained the ids of both.
    private func next(
        _ queue: inout CustomerQueue, _ isActiveFirst: Bool, except merged: Set<Int64>
    ) async throws(RunError) -> ImportedCustomer? {
        while true {
            if queue.next.isEmpty {
                let (run, scope, inFlight) = (run, queue.scope, Array(queue.inFlight))
                queue.next = try await on { (store) throws(StorageError) in
                    try await store.waitingCustomers(
                        of: run, in: scope, isActiveFirst: isActiveFirst, except: inFlight)
                }.reversed()
            }
            guard let customer = queue.next.popLast() else { return nil }
            guard !merged.contains(customer.key) else { continue }
            queue.inFlight.insert(customer.key)
            return customer
        }
    }
}

extension ImportState {
    /// The count of this state.
    fileprivate var count: WritableKeyPath<CustomerTally, Int64> {
        switch self {
        case .waiting: \.waiting
        case .known: \.known
        case .notFound: \.notFound
        case .failed: \.failed
        }
    }
}
