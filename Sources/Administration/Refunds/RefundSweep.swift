import AppStoreClients
import AppStorePayloads
package import Base
import Batch
import Foundation
package import Storage
package import VerifyReceipt

/// Looks up the refunds of many customers, stores them, and reports the refunds that were never reported before.
///
/// A refund is first stored, then reported, then marked as reported. When a run begins, an output file is truncated
/// to the part that was marked. So files contain each refund exactly once, even if a run is killed. A pipe may
/// receive the last few refunds twice.
package struct RefundSweep: Sendable {
    /// The limits of a run.
    package struct Limits: Sendable {
        /// Number of customers; `nil` for no limit.
        package var customers: Int?
        /// Time after which no new lookups are started; `nil` for no limit.
        package var time: Duration?
        /// Number of customers that are looked up concurrently.
        package var workers = 4

        package init(customers: Int? = nil, time: Duration? = nil) {
            self.customers = customers
            self.time = time
        }
    }

    /// The refunds of one customer and the revision of its history, or the error of the lookup.
    private typealias Answer = Result<(transactions: [Signed<TransactionPayload>], revision: String?), ServerAPIError>

    /// Number of failures in a row after which the run stops.
    private static let maximumFailures = 12

    private let clients: UpstreamClients
    private let store: any RefundStore
    private let limits: Limits
    private let monitor: SweepMonitor
    private let since: Timestamp?
    private let now: @Sendable () -> Timestamp

    /// - Parameter since: Refunds before this time are stored but not reported.
    package init(
        clients: UpstreamClients, store: any RefundStore, limits: Limits, monitor: SweepMonitor,
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
        let start = ContinuousClock.now
        monitor.change { $0.customers = min(targets.count, limits.customers ?? .max) }
        return try await withThrowingTaskGroup(of: (RefundTarget, Answer).self) { group in
            var targets = targets
            var (started, inFlight, failures, stop) = (0, 0, 0, RunStop?.none)
            while true {
                while stop == nil, inFlight < limits.workers, let target = try await targets.next() {
                    stop = reason(start, started: started)
                    guard stop == nil else { break }
                    started += 1
                    guard let client = clients.client(for: target.scope.bundleId) else {
                        monitor.change { $0.withoutKey += 1 }
                        continue
                    }
                    let options = options(start)
                    group.addTask { (target, await Self.refunds(of: target, client, options)) }
                    inFlight += 1
                }
                guard let (target, answer) = try await group.next() else { return stop }
                inFlight -= 1
                switch answer {
                case .success(let found):
                    failures = 0
                    try await save(found.transactions, found.revision, of: target)
                    monitor.change { $0.swept += 1 }
                    if !found.transactions.isEmpty { try await report(&output, path) }
                case .failure(let error) where error.isUnknownTransaction:
                    failures = 0
                    try await store.save([], of: target, revision: nil, at: now())
                    monitor.change { $0.notFound += 1 }
                case .failure(let error):
                    failures += 1
                    monitor.change { $0.failed += 1 }
                    if error.code == .budgetSpent || error.httpStatus == 429 { stop = stop ?? .budget }
                    if failures == Self.maximumFailures || error.code == .unauthorized || error.isUnreachable {
                        stop = stop ?? .failing("\(error)")
                    }
                }
            }
        }
    }

    /// Returns the reason to stop before the next lookup; `nil` to continue.
    private func reason(_ start: ContinuousClock.Instant, started: Int) -> RunStop? {
        if monitor.isStopped { return .signal }
        if let customers = limits.customers, started >= customers { return .limit }
        if let time = limits.time, start.duration(to: .now) >= time { return .time }
        return nil
    }

    /// Returns the limits of the next lookup. It may take up to four hours, because it waits for the rate limit, but
    /// not much longer than the time limit of the run (30 s at least).
    private func options(_ start: ContinuousClock.Instant) -> CallOptions {
        let timeout = Duration.seconds(4 * 3_600)
        let left = limits.time.map { max($0 - start.duration(to: .now), .seconds(30)) }
        return CallOptions(priority: .batch, timeLimit: min(timeout, left ?? timeout), maximumCalls: 600)
    }

    /// Looks up refunds since the last revision of the customer's history.
    private static func refunds(
        of target: RefundTarget, _ client: ServerAPIClient, _ options: CallOptions
    ) async -> Answer {
        do throws(ServerAPIError) {
            return .success(
                try await client.refunds(
                    target.identifier, in: target.scope.environment, since: target.revision, options))
        } catch {
            return .failure(error)
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
                try output.append(RefundLine.line(refund))
                monitor.change { $0.reported += 1 }
            }
            let size = try output.makeDurable()
            try await store.markReported(refunds, in: size.flatMap { size in path.map { ($0, size) } })
        }
    }
}

/// A line of the output of `refunds sweep`:
///
///     { "bundleId", "environment", "transaction": {…}, "signedTransaction": "eyJ…" }
///
/// The transaction is written as it was signed, including its `revocationDate`.
enum RefundLine {
    static func line(_ refund: UnreportedRefund) -> [UInt8] {
        JSONWriter.object {
            $0.member("bundleId", refund.scope.bundleId.rawValue)
            $0.member("environment", refund.scope.environment.rawValue)
            $0.member("transaction", json: Signed<TransactionPayload>(storedText: refund.text)?.payload.claims ?? [])
            $0.member("signedTransaction", refund.text)
        }
    }
}
