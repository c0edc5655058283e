import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage
package import ReceiptBridgeCore

/// Reads the refund histories of many customers and stores the refunds, each of which gives one event.
package struct RefundSweep: Sendable {
    private let clients: ServerAPISource
    private let store: any Store
    private let source: EventSource
    private let limits: RunLimits
    private let monitor: SweepMonitor
    private let reportTargets: @Sendable (BundleIdentifier) -> [ForwardingTargetKey]

    /// - Parameters:
    ///   - source: becomes part of the events.
    ///   - reportTargets: the targets to which refunds of an app are forwarded that were not known.
    package init(
        clients: ServerAPISource, store: any Store, source: EventSource = .refundSweep, limits: RunLimits,
        monitor: SweepMonitor,
        reportTargets: @escaping @Sendable (BundleIdentifier) -> [ForwardingTargetKey] = { _ in [] }
    ) {
        self.clients = clients
        self.store = store
        self.source = source
        self.limits = limits
        self.monitor = monitor
        self.reportTargets = reportTargets
    }

    /// Runs the sweep.
    ///
    /// - Parameter found: called after refunds were stored.
    /// - Returns: The reason for stopping early; `nil` if all customers were looked up.
    package func run(
        _ targets: RefundTargets, _ checkpoint: inout SweepCheckpoint, found: () async throws -> Void = {}
    ) async throws -> RunStop? {
        monitor.change { $0.customers = min(targets.count, limits.items.map(Int.init) ?? .max) }
        var targets = targets
        return try await limits.run(
            maximumCalls: 600, isStopped: { [monitor] in monitor.isStopped }, next: { try await targets.next() },
            perform: { [clients] target, options -> RefundHistory? in
                guard let client = clients.client(for: target.scope.bundleId) else { return nil }
                return try await RefundHistory(of: target, from: client, options)
            },
            finish: { target, result in
                switch result {
                case .success(let history?):
                    let unknown = try await history.save(
                        to: store.refunds, at: .now, source: source,
                        reportingTo: reportTargets(target.scope.bundleId))
                    monitor.change {
                        $0.unknown += unknown ?? 0
                        $0.swept += 1
                    }
                    if unknown != nil, !history.isEmpty { try await found() }
                case .success(nil):
                    let hasKey = clients.handles(target.scope.bundleId)
                    monitor.change { if hasKey { $0.notFound += 1 } else { $0.withoutKey += 1 } }
                case .failure: monitor.change { $0.failed += 1 }
                }
                var isDone = true
                if case .failure = result { isDone = false }
                try checkpoint.end(target, isDone: isDone)
            })
    }

    // MARK: - Output

    /// Writes the refunds since the last export to an output, each once.
    ///
    /// - Parameter since: refunds before this time are left out.
    package static func print(
        from store: any Store, since: Timestamp?, after cursor: inout EventCursor, to output: inout LineOutput,
        at path: String?
    ) async throws -> Int {
        var printed: Set<String> = []
        return try await cursor.export(.refund, from: store.events, to: &output, at: path) { events in
            let refunds = events.map { PrintedRefund($0) }
            var known: [AppScope: [String: ReportedRefund]] = [:]
            for (scope, some) in Dictionary(grouping: refunds.compactMap(\.self), by: \.scope) {
                known[scope] = try await store.refunds.reportedRefunds(of: some.map(\.transactionId), in: scope)
            }
            return refunds.compactMap { refund in
                guard let refund, let stored = known[refund.scope]?[refund.transactionId], stored.isReported,
                    since.map({ refund.date >= $0 }) ?? true, printed.insert(refund.key).inserted
                else { return nil }
                return refund.line(stored.text)
            }
        }
    }
}

/// The refund of an event of type `refund`.
private struct PrintedRefund {
    let scope: AppScope
    let transactionId: String
    let date: Timestamp
    private let claims: [UInt8]

    /// Returns `nil` if the event does not have the form of this version.
    init?(_ event: EventRow) {
        guard let body = try? JSONObject(Array(event.body.utf8)), let claims = body.rawElements("transactions")?.first,
            let payload = try? TransactionPayload(JSONObject(claims)), let id = payload.transactionId,
            let date = payload.revocationDate, let bundleId = BundleIdentifier(rawValue: event.app),
            let environment = AppStoreEnvironment(rawValue: event.environment)
        else { return nil }
        scope = AppScope(bundleId: bundleId, environment: environment)
        (transactionId, self.date, self.claims) = (id, date, Array(claims))
    }

    /// Identifies the refund: a purchase can be refunded again after a refund was reversed.
    var key: String { "\(scope) \(transactionId) \(date.milliseconds)" }

    /// A line of the output of `refunds sweep`:
    ///
    ///     { "bundleId", "environment", "transaction": {…}, "signedTransaction": "eyJ…" }
    ///
    /// The transaction is written as it was signed, including its `revocationDate`.
    ///
    /// - Parameter text: the most recent JWS of the transaction.
    func line(_ text: String?) -> [UInt8] {
        let stored = text.flatMap { Signed<TransactionPayload>(storedText: $0) }
        let signed = stored?.payload.revocationDate == date ? stored : nil
        return JSONWriter.object {
            $0.member("bundleId", scope.bundleId.rawValue)
            $0.member("environment", scope.environment.rawValue)
            $0.member("transaction", json: signed?.payload.claims ?? claims)
            $0.member("signedTransaction", signed?.text)
        }
    }
}
