import ReceiptBridgeBase
import ReceiptBridgeStorage

extension ImportWorker {
    private static let timeBetweenCounts = Duration.seconds(60)

    /// Looks up each customer once, several concurrently, or waits while another worker does, and takes over if that
    /// one stops.
    ///
    /// - Parameter startedAt: Customers whose lookup failed before this time are looked up again.
    func lookUpCustomers(
        _ lookups: any CustomerLookupService, startedAt: Int64
    ) async throws(RunError) -> RunStop? {
        context.monitor.change { $0.phase = .asking }
        let handled = try await scopes(of: lookups)
        let ids = handled.map(\.id)
        // Counting reads all customers, so a worker that waits does it rarely.
        var nextCount = ContinuousClock.now
        while true {
            if let stop = context.stop() { return stop }
            let isWaiting = try await on(
                try await store.hasWaitingCustomers(of: run, in: ids, failedBefore: startedAt))
            guard isWaiting else { return nil }
            guard let lease = try await claim(.ask) else {
                if nextCount <= .now {
                    context.monitor.change { [tally = try await tally(ids)] in $0.customers = tally }
                    nextCount = .now + Self.timeBetweenCounts
                }
                try? await Task.sleep(for: min(.seconds(2), duration / 4))
                continue
            }
            try await on(try await store.retryFailedCustomers(of: run, before: startedAt))
            // Receipts first: afterwards ids without a receipt may be known to be those of the same customers.
            var stop: RunStop?
            for hasEnvironment in [true, false] where stop == nil && holds(lease) {
                let queues = handled.filter { $0.hasEnvironment == hasEnvironment }.map { scope in
                    CustomerLookups.Queue(
                        scope: scope.id, related: handled.filter { $0.bundleId == scope.bundleId }.map(\.id))
                }
                var calls = CustomerLookups(
                    queues, mayCoincide: !hasEnvironment, by: self, lookups, lease, try await tally(ids))
                stop = try await calls.run()
            }
            await release(lease)
            if let stop { return stop }
        }
    }

    /// Returns the apps and environments of all customers, or of those that can be looked up.
    func scopes(of lookups: (any CustomerLookupService)? = nil) async throws(RunError) -> [ImportScope] {
        try await on(try await store.scopes(of: run)).filter { lookups?.handles($0.bundleId) ?? true }
    }

    /// Returns the numbers of customers by state.
    func tally(_ scopes: [Int64]) async throws(RunError) -> CustomerTally {
        let counts = try await on(try await store.tally(of: run, scopes))
        var tally = CustomerTally()
        for (state, count) in counts { tally[keyPath: state.count] = count }
        return tally
    }
}
