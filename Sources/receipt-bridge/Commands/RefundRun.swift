import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// A run over refund histories, of `refunds sweep` and of `reconcile --refunds-only`.
struct RefundRun {
    let settings: ProxyConfiguration
    let store: any Store
    let address: StoreAddress
    /// The part of Apple's limits to use.
    let share: Double

    /// Runs `body`, unless another run uses the same store. The run is stopped if its lease is lost.
    func whileHoldingLease(
        over curl: CurlTransport, _ body: (ServerAPISource, SweepMonitor) async throws -> Void
    ) async throws {
        let monitor = RunMonitor(SweepCounts())
        // Apple's rate limit of this endpoint.
        let limited = RateLimitedTransport(curl, perSecond: 10 * share * Double(TestSpeed.divisor))
        let result = try await settings.withClients(over: limited, share: share, store: store) { clients in
            guard clients.isConfigured else { throw InvalidOperation.serverAPIIsMissing }
            return try await TaskLease.whileHolding(.refunds, in: store.leases) { isHeld in
                // If the lease is lost, another sweep has taken over.
                let watch = Task {
                    while (try? await Task.sleep(for: .seconds(5))) != nil {
                        if await !isHeld() { monitor.stop() }
                    }
                }
                defer { watch.cancel() }
                return await Result { try await body(clients, monitor) }
            }
        }
        guard let result else {
            throw InvalidOperation(
                "another sweep is using this store",
                hint: "if it was killed on another machine, try again after 15 seconds")
        }
        try result.get()
    }

    /// The progress so far.
    static func progress(_ counts: SweepCounts, _ clients: ServerAPISource) -> ProgressText {
        let customers = "\(Int64(counts.swept).grouped) of \(Int64(counts.customers).grouped) customers"
        var parts: [ProgressText.Part] = [
            .init(customers, importance: 5), .init("\(clients.calls.grouped) calls", importance: 0),
            .init("\(Int64(max(counts.reported, counts.unknown)).grouped) new refunds", importance: 4, after: ": "),
        ]
        if counts.failed > 0 { parts.append(.init("\(Int64(counts.failed).grouped) failed", importance: 3)) }
        if let waiting = ProgressText.Part.waiting(clients.rateLimitWait, importance: 9) { parts.append(waiting) }
        let fraction = counts.customers > 0 ? Double(counts.swept) / Double(counts.customers) : nil
        return ProgressText(parts, fraction: fraction, items: Int64(counts.swept))
    }
}
