import AppStore
import Foundation
package import Ledger
package import Pipeline
package import StoreTypes
import StoredRows

/// Asks for the refunds of many customers, keeps them, and tells those that were never told before.
///
/// A refund is kept first, then told, then marked as told; a file that it is told to is cut back to what was marked when a
/// run begins. So each refund is told exactly once to files, whenever the run is killed; of a pipe the last few may be told
/// again.
package struct RefundSweep: Sendable {
    /// Why it stopped before its end.
    package enum Stop: Sendable, Hashable {
        case limit, time, signal, budget
        /// The App Store gave no answer so often that it is not a matter of single customers.
        case trouble(String)

        package var sentence: String {
            switch self {
            case .limit: "--limit"
            case .time: "--max-hours"
            case .signal: "a signal"
            case .budget: "the budget is spent"
            case .trouble(let reason): "the App Store gives no answers: \(reason)"
            }
        }
    }

    /// What may be spent.
    package struct Limits: Sendable {
        /// Customers; nil for all.
        package var customers: Int?
        /// For new work; nil for as long as it takes.
        package var time: Duration?
        /// Customers at a time.
        package var workers = 4

        package init(customers: Int? = nil, time: Duration? = nil) {
            self.customers = customers
            self.time = time
        }
    }

    private typealias Answer = Result<(transactions: [Signed<TransactionPayload>], revision: String?), ServerAPIError>

    /// Failures one after the other, of whomever.
    private static let maximumFailures = 12

    private let clients: UpstreamClients
    private let store: Store
    private let limits: Limits
    private let watch: SweepMonitor
    private let since: Timestamp?
    private let now: @Sendable () -> Timestamp

    /// - Parameter since: refunds before that are kept, not told.
    package init(
        clients: UpstreamClients, store: Store, limits: Limits, watch: SweepMonitor, since: Timestamp? = nil,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.clients = clients
        self.store = store
        self.limits = limits
        self.watch = watch
        self.since = since
        self.now = now
    }

    /// - Parameter path: of the file behind the output; nil for none.
    /// - Returns: nil when nobody is left.
    /// - Throws: `StorageError`, `SinkError`.
    package func run(
        _ targets: [RefundTarget], to output: inout LineOutput, at path: String?
    ) async throws -> Stop? {
        try await tell(&output, path)
        let begin = ContinuousClock.now
        watch.change { $0.customers = min(targets.count, limits.customers ?? .max) }
        return try await withThrowingTaskGroup(of: (RefundTarget, Answer).self) { group in
            var (next, inFlight, failures, stop) = (0, 0, 0, Stop?.none)
            while true {
                while stop == nil, inFlight < limits.workers, next < targets.count {
                    stop = reason(begin, taken: next)
                    guard stop == nil else { break }
                    let target = targets[next]
                    next += 1
                    guard let client = clients.client(for: target.scope.bundleId) else {
                        watch.change { $0.withoutKey += 1 }
                        continue
                    }
                    let options = options(begin)
                    group.addTask { (target, await Self.refunds(of: target, client, options)) }
                    inFlight += 1
                }
                guard let (target, answer) = try await group.next() else { return stop }
                inFlight -= 1
                switch answer {
                case .success(let found):
                    failures = 0
                    try await save(found.transactions, found.revision, of: target)
                    watch.change { $0.swept += 1 }
                    if !found.transactions.isEmpty { try await tell(&output, path) }
                case .failure(let error) where error.isUnknownTransaction:
                    failures = 0
                    try await store.save([], of: target, revision: nil, at: now())
                    watch.change { $0.notFound += 1 }
                case .failure(let error):
                    failures += 1
                    watch.change { $0.failed += 1 }
                    if error.code == .budgetSpent || error.httpStatus == 429 { stop = stop ?? .budget }
                    if failures == Self.maximumFailures || error.code == .unauthorized || error.isUnreachable {
                        stop = stop ?? .trouble("\(error)")
                    }
                }
            }
        }
    }

    private func reason(_ begin: ContinuousClock.Instant, taken: Int) -> Stop? {
        if watch.isStopped { return .signal }
        if let customers = limits.customers, taken >= customers { return .limit }
        if let time = limits.time, begin.duration(to: .now) >= time { return .time }
        return nil
    }

    private func options(_ begin: ContinuousClock.Instant) -> CallOptions {
        let timeout = Duration.seconds(4 * 3_600)
        let left = limits.time.map { max($0 - begin.duration(to: .now), .seconds(30)) }
        return CallOptions(priority: .batch, timeLimit: min(timeout, left ?? timeout), maximumCalls: 600)
    }

    /// From the last revision on.
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

    private func save(
        _ transactions: [Signed<TransactionPayload>], _ revision: String?, of target: RefundTarget
    ) async throws(StorageError) {
        let refunds = transactions.compactMap { signed -> RefundRow? in
            guard let row = TransactionRow(signed), let date = signed.payload.revocationDate else { return nil }
            return RefundRow(transaction: row, date: date)
        }
        try await store.save(refunds, of: target, revision: revision ?? target.revision, at: now())
    }

    private func tell(_ output: inout LineOutput, _ path: String?) async throws {
        while true {
            let refunds = try await store.unreportedRefunds(limit: 500)
            guard !refunds.isEmpty else { return }
            for refund in refunds where since.map({ refund.date >= $0 }) ?? true {
                try output.append(RefundLine.line(refund))
                watch.change { $0.reported += 1 }
            }
            let size = try output.makeDurable()
            try await store.markReported(refunds, in: size.flatMap { size in path.map { ($0, size) } })
        }
    }
}
