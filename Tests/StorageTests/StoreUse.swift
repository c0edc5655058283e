import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// What servers and commands do with a store that has rows in every table.
struct StoreUse {
    private let scope: AppScope
    private let prefix: String
    private let first, second: TransactionIdentifier
    private let target: ForwardingTargetKey
    private let now = Timestamp(milliseconds: 9_000)

    /// - Parameter prefix: the first 14 digits of all ids.
    init(_ scope: AppScope, _ prefix: String) throws {
        (self.scope, self.prefix) = (scope, prefix)
        first = try #require(TransactionIdentifier(rawValue: "\(prefix)1"))
        second = try #require(TransactionIdentifier(rawValue: "\(prefix)2"))
        target = scope.target()
    }

    /// Inserts rows into every table.
    func fill(_ store: some Store) async throws {
        try await CustomerDataFixture("84000000000000", token: nil, in: scope).save(to: store)
        let request = ErasureRequest(.transaction(try #require(TransactionIdentifier(rawValue: "840000000000001"))))
        _ = try await store.erase(request, at: now)
        _ = try await store.comparisons.rollout(RolloutKey(bundleId: scope.bundleId, block: "api 5.0 0.5"), at: now)
        try await CustomerDataFixture(prefix, token: nil, in: scope).save(to: store)
        _ = try await store.notifications.save(
            NotificationRow(
                "request", "CONSUMPTION_REQUEST", at: now.milliseconds, text: CustomerDataFixture.jws("{}")),
            NotificationUpdate(transaction: CustomerDataFixture.transaction("\(prefix)3", "\(prefix)1")),
            of: scope)
        try await store.comparisons.add(comparisons: [comparison], differences: [])
        _ = try await store.leases.claim(.refunds, for: "holder", lasting: .seconds(60))
        try await store.reconciliations.save(ReconciliationRow(startedAt: now, window: 1))
        try await store.cluster?.add(NotificationGap(from: now, to: now))
        _ = try await store.cluster?.checkIn("server", countingWithin: .seconds(60))
        _ = try await store.cluster?.claimLookup(of: first, in: scope, every: .seconds(60))
        _ = try await store.cluster?.takeCalls(calls)
    }

    private var comparison: ComparisonCount {
        ComparisonCount(
            day: 1, bundleId: scope.bundleId.rawValue, environment: scope.environment.rawValue, outcome: "equal",
            count: 1)
    }

    private var calls: CallRequest {
        CallRequest(bucket: CallBucketKey(scope: scope, endpoint: "history"), count: 1, callsPerHour: 100, reserved: 0)
    }

    /// Calls everything, and returns the errors.
    ///
    /// - Parameter table: the damaged table. In debug, only this one is read for a copy.
    func run(_ store: some Store, _ table: String) async -> [any Error] {
        var errors: [any Error] = []
        func call(_ body: () async throws -> Void) async { do { try await body() } catch { errors.append(error) } }
        let keys = CustomerIdentifiers([first.rawValue], [second.rawValue])
        await call { _ = try await store.customer(of: keys, in: scope) }
        await call { _ = try await store.transaction(second, in: scope) }
        await call { _ = try await store.customers(withToken: "", limit: 9) }
        await call { _ = try await store.transactionsWithoutToken(limit: 1) }
        await call { _ = try await store.recordedIdentifiers([first], of: scope.bundleId) }
        await call { _ = try await store.hasNewerRecord(of: [first.rawValue], in: scope, since: now) }
        await call { _ = try await store.revokedPurchases(after: .start) }
        await call { _ = try await store.revocations(of: [second.rawValue], lineItems: ["55"], in: scope) }
        await call { _ = try await store.customerIdentifiers(of: Array("\(prefix)-digest".utf8)) }
        await call { _ = try await store.customerIdentifiersByReceipt(limit: 9) }
        await call { _ = try await store.deliveryBacklog() }
        await call { _ = try await store.deliveries(in: nil, after: 0, limit: 1) }
        await call { _ = try await store.consumptionCases(about: first.rawValue, in: scope) }
        await call {
            _ = try await store.consumptionCases(
                ConsumptionCaseFilter(receivedSince: Timestamp(milliseconds: 0)), after: 0, limit: 1)
        }
        await call { _ = try await store.openConsumptionRequests(since: Timestamp(milliseconds: 0)) }
        await call { _ = try await store.notification("\(prefix)a") }
        await call { _ = try await store.notifications(matching: NotificationFilter(), after: 0, limit: 1) }
        await call { _ = try await store.notifications("REFUND", about: first.rawValue, in: scope) }
        await call { _ = try await store.previousNotifications(of: 99, type: nil, limit: 9) }
        await call { _ = try await store.arrivals() }
        await call { _ = try await store.events(after: 0, upTo: .max) }
        await call { _ = try await store.presenters(of: [first], in: scope, claimingFor: [1, 2], at: now) }
        await call { _ = try await store.archivedResponse(to: Array("\(prefix)-question".utf8)) }
        await call { _ = try await store.lastGoodUsage() }
        await call { _ = try await store.comparisons(since: 0) }
        await call { _ = try await store.comparedCustomers(since: 0) }
        await call { _ = try await store.lastErasure() }
        await call { _ = try await store.claim(.refunds, for: "other", lasting: .seconds(1)) }
        await call { _ = try await store.lastReconciliation() }
        let rollout = RolloutKey(bundleId: scope.bundleId, block: "api 5.0 0.5")
        await call { _ = try await store.rollout(rollout, at: now) }
        let need = LookupNeed(of: [scope.bundleId], before: now, at: now)
        await call { _ = try await store.customers(with: need, notAskedSince: now, after: .newest) }
        await call { _ = try await store.countCustomers(with: need) }
        await call { try await store.markUnknown(1) }
        await call {
            _ = try await store.customers(
                endingIn: ReconciliationInterval(from: Timestamp(milliseconds: 0), to: now), notAskedSince: now,
                after: .start)
        }
        await call { _ = try await store.transactionsWithoutExpiry(limit: 1) }
        await call { _ = try await store.refundTargets(after: 0) }
        await call { _ = try await store.reportedRefunds(of: [first.rawValue], in: scope) }
        await call { _ = try await store.footprint(of: ErasureRequest(.transaction(first))) }
        await call { _ = try await store.expired(Retention(), at: now) }
        await call { _ = try await store.doubt(about: now) }
        if let transfer = store as? any StoreTransfer {
            for other in StoreTable.copied where TestSize.pick(debug: other.name == table, release: true) {
                await call { _ = try await transfer.rows(other.content, after: nil, limit: 9, decodesJWS: true) }
            }
        }
        await call {
            for delivery in try await store.claim(to: target, by: "1/2/3", at: now) {
                try await store.settle(delivery, .failed(code: "x", bodiesSent: 0, pause: .zero), at: now)
            }
        }
        await call { _ = try await store.replay(.allDead, to: nil, at: now) }
        await call { try await store.comparisons.add(comparisons: [comparison], differences: []) }
        await call { try await CustomerDataFixture(prefix, token: nil, in: scope).save(to: store) }
        await call { _ = try await store.deleteArchivedResponses(before: now, downTo: 1 << 40) }
        if let cluster = store.cluster {
            await call { _ = try await cluster.changes(since: nil) }
            await call { _ = try await cluster.notificationGaps() }
            await call { _ = try await cluster.checkIn("server", countingWithin: .seconds(60)) }
            await call { _ = try await cluster.claimLookup(of: first, in: scope, every: .seconds(60)) }
            await call { _ = try await cluster.takeCalls(calls) }
            await call { try await cluster.expireChanges() }
        }
        return errors
    }

    /// Deletes what has expired, in the far future, and returns the errors.
    func expire(_ store: some Store) async -> [any Error] {
        do {
            _ = try await store.deleteArchivedResponses(before: now, downTo: 0)
            _ = try await store.expire(Retention(), at: Timestamp(milliseconds: 1 << 40)) { _ in true }
            return []
        } catch {
            return [error]
        }
    }
}
