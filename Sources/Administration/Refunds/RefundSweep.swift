import AppStoreClients
import AppStorePayloads
package import Base
package import Storage
package import VerifyReceipt

/// Looks up the refunds of many customers, stores them, and reports the refunds that were never reported before.
///
/// A refund is first stored, then reported, then marked as reported. When a run begins, an output file is truncated
/// to the part that was marked. So files contain each refund exactly once, even if a run is killed. A pipe may
/// receive the last few refunds twice.
package struct RefundSweep: Sendable {
    /// The refunds of one customer and the revision of its history.
    private typealias Refunds = (transactions: [Signed<TransactionPayload>], revision: String?)

    private let clients: UpstreamClients
    private let store: any RefundStore
    private let limits: RunLimits
    private let monitor: SweepMonitor
    private let since: Timestamp?
    private let now: @Sendable () -> Timestamp

    /// - Parameter since: Refunds before this time are stored but not reported.
    package init(
        clients: UpstreamClients, store: any RefundStore, limits: RunLimits, monitor: SweepMonitor,
        since: Timestamp? = nil,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.clients = clients
        self.store = store
        self.limits = limits
        self.monitor = monitor
        self.since = since
        self.now = now
    }

    /// Runs the sweep.
    ///
    /// - Parameter path: Path of the output file; `nil` if the output is not a file.
    /// - Returns: The reason for stopping early; `nil` if all customers were looked up.
    /// - Throws: `StorageError`, `SinkError`.
    package func run(
        _ targets: RefundTargets, to output: inout LineOutput, at path: String?
    ) async throws -> RunStop? {
        try await report(&output, path)
        monitor.change { $0.customers = min(targets.count, limits.items ?? .max) }
        var targets = targets
        let run = CallRun(limits: limits, maximumCalls: 600) { [monitor] in monitor.isStopped }
        return try await run.run(
            next: { try await targets.next() },
            call: { (target: RefundTarget) -> (@Sendable (CallOptions) async throws -> Refunds?)? in
                guard let client = clients.client(for: target.scope.bundleId) else {
                    monitor.change { $0.withoutKey += 1 }
                    return nil
                }
                return { try await Self.refunds(of: target, client, $0) }
            },
            finish: { target, result in
                switch result {
                case .success(let found?):
                    try await save(found.transactions, found.revision, of: target)
                    monitor.change { $0.swept += 1 }
                    if !found.transactions.isEmpty { try await report(&output, path) }
                case .success(nil):
                    try await store.save([], of: target, revision: nil, at: now())
                    monitor.change { $0.notFound += 1 }
                case .failure:
                    monitor.change { $0.failed += 1 }
                }
            })
    }

    /// Looks up refunds since the last revision of the customer's history; `nil` if the App Store does not know the
    /// customer.
    private static func refunds(
        of target: RefundTarget, _ client: ServerAPIClient, _ options: CallOptions
    ) async throws(UpstreamError) -> Refunds? {
        do throws(UpstreamError) {
            return try await client.refunds(
                target.identifier, in: target.scope.environment, since: target.revision, options)
        } catch {
            guard error.isUnknownTransaction else { throw error }
            return nil
        }
    }

    /// Stores the refunds and the revision from which the next sweep continues.
    private func save(
        _ transactions: [Signed<TransactionPayload>], _ revision: String?, of target: RefundTarget
    ) async throws(StorageError) {
        try await store.save(
            transactions.compactMap { RefundRow($0) }, of: target, revision: revision ?? target.revision, at: now())
    }

    /// Writes unreported refunds to the output and marks them as reported.
    private func report(_ output: inout LineOutput, _ path: String?) async throws {
        var last = Int64.min
        while true {
            let refunds = try await store.unreportedRefunds(limit: 500)
            // In a damaged store a refund can stay unreported, and would be written without an end.
            guard let end = refunds.last?.id, end > last else { return }
            last = end
            for refund in refunds where since.map({ refund.date >= $0 }) ?? true {
                try output.append(refund.line)
                monitor.change { $0.reported += 1 }
            }
            let size = try output.makeDurable()
            try await store.markReported(refunds, in: size.flatMap { size in path.map { ($0, size) } })
        }
    }
}

extension UnreportedRefund {
    /// A line of the output of `refunds sweep`:
    ///
    ///     { "bundleId", "environment", "transaction": {…}, "signedTransaction": "eyJ…" }
    ///
    /// The transaction is written as it was signed, including its `revocationDate`.
    fileprivate var line: [UInt8] {
        JSONWriter.object {
            $0.member("bundleId", scope.bundleId.rawValue)
            $0.member("environment", scope.environment.rawValue)
            $0.member("transaction", json: Signed<TransactionPayload>(storedText: text)?.payload.claims ?? [])
            $0.member("signedTransaction", text)
        }
    }
}
