import Reports

extension SharedMigration {
    /// The customers of one app and environment that have not been looked up.
    private struct CustomerQueue {
        let scope: Int64
        /// Customers that were read but not started, in reverse order.
        var next: [MigrationCustomer] = []
        var inFlight: Set<Int64> = []
        var isAtEnd = false
    }

    /// An event in the group of concurrent lookups.
    private enum Event: Sendable {
        case answer(queue: Int, MigrationCustomer, CustomerAnswer)
        /// Time to check the lease and the limits, because a response can take an hour.
        case tick

        static func nextTick() async -> Event {
            try? await Task.sleep(for: .milliseconds(500))
            return .tick
        }
    }

    /// The reason why this worker no longer asks.
    private enum End {
        case done
        case stopped(Migration.Stop)
        /// Another worker has taken over.
        case lostLease
    }

    /// Number of consecutive failures after which the host or the key is considered the cause.
    private static let consecutiveFailureLimit = 12

    /// Looks up each customer once, or waits while another worker does, and takes over if that one stops.
    ///
    /// - Parameter startedAt: Customers whose lookup failed before this time are looked up again.
    func lookUpCustomers(
        of migration: Int64, _ lookups: any CustomerLookupService, startedAt: Int64
    ) async throws(RunError) -> Migration.Stop? {
        monitor.show { $0.phase = .asking }
        let scopes = try await database.scopes().filter { lookups.handles($0.bundleId) }.map(\.id)
        while true {
            if let stop { return stop == .rowLimit ? nil : stop }
            monitor.show { [tally = try await database.tally(of: migration, scopes)] in $0.customers = tally }
            guard try await database.hasWaitingCustomers(of: migration, in: scopes, failedBefore: startedAt) else {
                return nil
            }
            guard let lease = try await claim(.ask, of: migration) else {
                try? await Task.sleep(for: min(.seconds(2), options.lease / 4))
                continue
            }
            try await database.retryFailedCustomers(before: startedAt, lease)
            let end = try await ask(scopes, lookups, lease)
            await release(lease)
            if case .stopped(let stop) = end { return stop }
        }
    }

    private func ask(
        _ scopes: [Int64], _ lookups: any CustomerLookupService, _ lease: WorkLease
    ) async throws(RunError) -> End {
        do {
            return try await withThrowingTaskGroup(of: Event.self) { group in
                var queues = scopes.map { CustomerQueue(scope: $0) }
                var tally = try await database.tally(of: lease.migration, scopes)
                var merged: Set<Int64> = []
                var countedCalls = lookups.usage.calls
                var end: End?
                var (failing, answered) = (count: 0, 0)
                var lastCause: Migration.Stop?
                group.addTask { await Event.nextTick() }

                func save() async throws {
                    let usage = lookups.usage
                    try await database.add(calls: usage.calls - countedCalls, to: lease.migration)
                    countedCalls = usage.calls
                }
                while true {
                    for index in queues.indices where end == nil {
                        try await start(&queues[index], index, except: merged, lookups, lease, in: &group)
                    }
                    guard queues.contains(where: { !$0.inFlight.isEmpty }), let event = try await group.next() else {
                        break
                    }
                    if end == nil {
                        if let stop, stop != .rowLimit { end = .stopped(stop) }
                        if !holds(lease) { end = .lostLease }
                    }
                    switch event {
                    case .tick:
                        try await save()
                        monitor.show { [tally] in
                            ($0.customers, $0.calls, $0.budgetLeft) = (tally, lookups.usage.calls, lookups.usage.left)
                        }
                        group.addTask { await Event.nextTick() }
                    case .answer(let index, let customer, let answer):
                        var result: CustomerLookupResult?
                        switch answer {
                        case .found(let finding):
                            (result, failing) = (finding, 0)
                            answered += 1
                        case .failing(let cause, let reason):
                            (result, lastCause) = (.failed(reason: reason), cause)
                            failing += 1
                            if failing == Self.consecutiveFailureLimit { end = end ?? .stopped(cause) }
                        case .cancelled: break
                        case .giveUp(let reason):
                            if end == nil { notify(reason) }
                            end = .stopped(.refusedByAppStore)
                        }
                        if let result, !merged.contains(customer.key) {
                            let others = try await database.record(
                                result, of: customer, in: queues[index].scope, lease)
                            merged.formUnion(others)
                            tally.record(result, merged: others.count)
                        }
                        queues[index].inFlight.remove(customer.key)
                    }
                    if end != nil { group.cancelAll() }
                }
                group.cancelAll()
                try await save()
                return end ?? (answered == 0 ? lastCause.map { .stopped($0) } : nil) ?? .done
            }
        } catch {
            throw database.runError(error)
        }
    }

    /// Starts lookups up to the limit of concurrent ones.
    private func start(
        _ queue: inout CustomerQueue, _ index: Int, except merged: Set<Int64>, _ lookups: any CustomerLookupService,
        _ lease: WorkLease, in group: inout ThrowingTaskGroup<Event, any Error>
    ) async throws(RunError) {
        while !queue.isAtEnd, queue.inFlight.count < options.migration.workers * 8 {
            if queue.next.isEmpty {
                queue.next = try await database.waitingCustomers(
                    of: lease.migration, in: queue.scope, isActiveFirst: options.migration.isActiveFirst,
                    except: Array(queue.inFlight)
                ).reversed()
            }
            guard let customer = queue.next.popLast() else {
                // A customer in flight does not become waiting again.
                queue.isAtEnd = true
                return
            }
            guard !merged.contains(customer.key) else { continue }
            queue.inFlight.insert(customer.key)
            group.addTask { .answer(queue: index, customer, await lookups.lookUp(customer)) }
        }
    }
}

extension CustomerTally {
    /// Counts the result of a waiting customer, and the customers that were merged into it.
    fileprivate mutating func record(_ result: CustomerLookupResult, merged: Int) {
        waiting -= 1 + Int64(merged)
        switch result {
        case .known: known += 1
        case .notFound: notFound += 1
        case .failed: failed += 1
        }
    }
}
