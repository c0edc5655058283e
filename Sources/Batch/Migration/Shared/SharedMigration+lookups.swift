import Base
import Reports

extension SharedMigration {
    /// The customers of one app and environment that have not been looked up.
    private struct CustomerQueue {
        let scope: Int64
        /// Customers that were read but not started, in reverse order.
        var next: [MigrationCustomer] = []
        var inFlight: Set<Int64> = []
    }

    /// Looks up each customer once, or waits while another worker does, and takes over if that one stops.
    ///
    /// - Parameter startedAt: Customers whose lookup failed before this time are looked up again.
    func lookUpCustomers(
        of migration: Int64, _ lookups: any CustomerLookupService, startedAt: Int64
    ) async throws(RunError) -> Migration.Stop? {
        monitor.change { $0.phase = .asking }
        let handled = try await database.scopes().filter { lookups.handles($0.bundleId) }
        let scopes = handled.map(\.id)
        while true {
            if let stop { return stop == .rowLimit ? nil : stop }
            monitor.change { [tally = try await database.tally(of: migration, scopes)] in $0.customers = tally }
            guard try await database.hasWaitingCustomers(of: migration, in: scopes, failedBefore: startedAt) else {
                return nil
            }
            guard let lease = try await claim(.ask, of: migration) else {
                try? await Task.sleep(for: min(.seconds(2), options.lease / 4))
                continue
            }
            try await database.retryFailedCustomers(before: startedAt, lease)
            // Receipts first: afterwards ids without a receipt may be known to be those of the same customers.
            var end = CustomerLookups.End.done
            for hasEnvironment in [true, false] {
                guard case .done = end else { break }
                let queues = handled.filter { $0.hasEnvironment == hasEnvironment }.map(\.id)
                end = try await ask(queues, of: scopes, lookups, mayCoincide: !hasEnvironment, lease)
            }
            await release(lease)
            if case .stopped(let stop) = end { return stop }
        }
    }

    private func ask(
        _ queues: [Int64], of scopes: [Int64], _ lookups: any CustomerLookupService, mayCoincide: Bool,
        _ lease: WorkLease
    ) async throws(RunError) -> CustomerLookups.End {
        do {
            var queues = queues.map { CustomerQueue(scope: $0) }
            var tally = try await database.tally(of: lease.migration, scopes)
            var merged: Set<Int64> = []
            var countedCalls = lookups.usage.calls
            func save() async throws {
                let usage = lookups.usage
                try await database.add(calls: usage.calls - countedCalls, to: lease.migration)
                countedCalls = usage.calls
            }
            let end = try await CustomerLookups(
                service: lookups, concurrency: options.migration.workers * 8, mayCoincide: mayCoincide, notify: notify
            ).run(
                queues: queues.count, next: { try await next(&queues[$0], except: merged, lease) },
                record: { result, customer, queue in
                    var others: [Int64] = []
                    if let result, !merged.contains(customer.key) {
                        others = try await database.record(result, of: customer, in: queues[queue].scope, lease)
                        merged.formUnion(others)
                        tally.waiting -= 1 + Int64(others.count)
                        tally[keyPath: result.state.count] += 1
                    }
                    queues[queue].inFlight.remove(customer.key)
                    return !others.isEmpty
                },
                tick: {
                    try await save()
                    monitor.change { [tally] in
                        ($0.customers, $0.calls, $0.budgetLeft) = (tally, lookups.usage.calls, lookups.usage.left)
                    }
                },
                reason: {
                    if let stop, stop != .rowLimit { return .stopped(stop) }
                    return holds(lease) ? nil : .lostLease
                })
            try await save()
            return end
        } catch {
            throw database.runError(error)
        }
    }

    /// Returns the next customer of a queue; `nil` at the end. A customer in flight does not become waiting again.
    private func next(
        _ queue: inout CustomerQueue, except merged: Set<Int64>, _ lease: WorkLease
    ) async throws(RunError) -> MigrationCustomer? {
        while true {
            if queue.next.isEmpty {
                queue.next = try await database.waitingCustomers(
                    of: lease.migration, in: queue.scope, isActiveFirst: options.migration.isActiveFirst,
                    except: Array(queue.inFlight)
                ).reversed()
            }
            guard let customer = queue.next.popLast() else { return nil }
            guard !merged.contains(customer.key) else { continue }
            queue.inFlight.insert(customer.key)
            return customer
        }
    }
}
