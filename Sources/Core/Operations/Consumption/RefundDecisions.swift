import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Looks at purchases 48 hours after Apple asked for consumption information, and stores whether they were refunded.
///
/// The purchase in the store decides if it is revoked. Otherwise the App Store is asked for it, with the priority of
/// batch work. A refund that the store did not know of leads to a lookup of the customer, so that all responses contain
/// it.
package struct RefundDecisions: Sendable {
    /// Time between Apple's request and the look.
    package static let delay = Duration.hours(48)
    /// Cases whose notification is older are not looked at any longer.
    private static let maximumAge = Duration.days(30)
    /// Number of cases that are read at once.
    private static let pageSize = 100
    /// Number of failures in a row after which a run stops.
    private static let maximumFailures = 5
    private static let options = CallOptions(priority: .batch, timeLimit: .seconds(60), maximumCalls: 20)

    private let store: any Store
    private let serverAPI: ServerAPISource?
    private let counts: ProxyMetrics
    private let now: @Sendable () -> Timestamp

    init(_ components: ServiceComponents, store: any Store) {
        self.store = store
        serverAPI = components.serverAPI
        counts = components.counts
        now = components.now
    }

    /// Settles the cases that are due. Returns their number by decision.
    ///
    /// - Parameter isHeld: returns `false` if the work must stop.
    package func settle(whileHeld isHeld: () async -> Bool) async throws(StorageError) -> [RefundDecision: Int] {
        let time = now()
        let filter = ConsumptionCaseFilter(
            receivedSince: time.advanced(by: .zero - Self.maximumAge),
            requestedBefore: time.advanced(by: .zero - Self.delay), isUnsettled: true)
        var settled: [RefundDecision: Int] = [:]
        var (last, failures): (Int64, Int) = (0, 0)
        while failures < Self.maximumFailures {
            let page = try await store.consumption.consumptionCases(filter, after: last, limit: Self.pageSize)
            for found in page where failures < Self.maximumFailures {
                guard await isHeld() else { return settled }
                guard let decision = try await decision(about: found) else {
                    failures += 1
                    continue
                }
                failures = 0
                try await store.consumption.settle(found.id, as: decision, replacing: nil, at: now())
                settled[decision, default: 0] += 1
                counts[found.scope.bundleId].refundDecisions.add(decision)
            }
            guard page.count == Self.pageSize, let end = page.last else { return settled }
            last = end.id
        }
        return settled
    }

    /// Returns the decision; `nil` if it cannot be known at the moment.
    private func decision(about found: ConsumptionCase) async throws(StorageError) -> RefundDecision? {
        guard let id = found.transactionId else { return .unknown }
        let stored = try await store.customers.transaction(id, in: found.scope)
        if stored.flatMap({ Signed<TransactionPayload>(storedText: $0)?.payload.revocationDate }) != nil {
            return .refunded
        }
        guard let client = serverAPI?.client(for: found.scope.bundleId) else { return nil }
        do throws(UpstreamError) {
            let transaction = try await client.transaction(id, in: found.scope.environment, Self.options)
            guard transaction.payload.revocationDate != nil else { return .notRefunded }
            await learn(transaction.payload, in: found.scope)
            return .refunded
        } catch {
            return error.isUnknownTransaction || error.isFinal ? .unknown : nil
        }
    }

    /// Looks the customer of an unknown refund up, which stores all records.
    private func learn(_ payload: TransactionPayload, in scope: AppScope) async {
        let keys = CustomerIdentifiers(
            originalTransactionIds: [payload.originalTransactionId ?? payload.transactionId], transactionIds: [])
        guard !keys.isEmpty else { return }
        _ = try? await serverAPI?.refresh(keys, in: scope)
    }
}
