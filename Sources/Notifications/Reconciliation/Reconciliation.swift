package import AppStoreClients
import AppStorePayloads
package import Base
import BridgeConfiguration
package import Storage
import Synchronization
import Telemetry
import VerifyReceipt

/// Asks the App Store about changes that no notification reported, see ``ReconciliationPlan``. What differs is stored
/// by the rules of any lookup: a record that was signed later is never replaced.
///
/// A run that was killed or stopped is continued by the next one: a customer that was looked up is not looked up
/// again, and everything else can be repeated without harm.
package struct Reconciliation: Sendable {
    /// Number of transactions whose ends are added at once.
    private static let expiryPage = 500
    /// Length of a window of the notification history.
    private static let historyWindow = Duration.days(1)
    /// Limits of one lookup: an hour, because it may wait for the hourly limit, and 600 calls, retries included.
    private static let (timeLimit, maximumCalls) = (Duration.seconds(3_600), 600)
    /// Time limit of a lookup of a customer that needs it, apart from a daily run: the next attempt is in ten minutes.
    private static let waitingTimeLimit = Duration.seconds(60)

    private let receiver: NotificationReceiver
    private let store: any Store
    let clients: [BundleIdentifier: ServerAPIClient]
    private let window: Int64
    let progress: ReconciliationProgress
    private let failures = AppFailures()

    /// - Parameters:
    ///   - receiver: stores the notifications, and knows the forwarding targets.
    ///   - clients: the clients of all apps that have a key; `nil` for those of the receiver.
    ///   - window: subscriptions that end within this many seconds before or after now are checked.
    package init(
        receiver: NotificationReceiver, store: any Store,
        clients: [(bundleId: BundleIdentifier, client: ServerAPIClient)]? = nil, window: Int64,
        progress: ReconciliationProgress
    ) {
        self.receiver = receiver
        self.store = store
        self.clients = Dictionary(
            (clients ?? receiver.serverAPI?.clients ?? []).map { ($0.bundleId, $0.client) }
        ) { first, _ in first }
        self.window = window
        self.progress = progress
    }

    /// Runs while this process has the lease of reconciliations, and stops if it loses it.
    ///
    /// - Parameter schedule: says whether a reconciliation is due, once this process has the lease; `nil` if it is to
    ///   run in any case. Another process may have ended one just before.
    /// - Returns: `nil` if another process reconciles this store, or if none is due.
    package func runHoldingLease(
        on schedule: ReconciliationSchedule? = nil
    ) async throws(StorageError) -> ReconciliationCounts? {
        try await holdingLease { () throws(StorageError) in
            let last = try await store.reconciliations.lastReconciliation()
            if let schedule, !schedule.isDue(after: last, at: receiver.now()) { return nil }
            return try await run(after: last)
        }
    }

    /// Looks up the customers that need it, while this process has the lease of reconciliations.
    ///
    /// - Parameter isDue: whether a reconciliation is due, which looks up the others.
    /// - Returns: `nil` if there are none, or if another process reconciles this store.
    package func lookUpWaiting(
        until isDue: @escaping @Sendable () async throws(StorageError) -> Bool
    ) async throws(StorageError) -> ReconciliationCounts? {
        guard try await store.reconciliations.countCustomers(with: receiver.lookupNeed) > 0 else { return nil }
        return try await holdingLease { () throws(StorageError) in
            // A customer whose lookups contradict each other is not looked up at every opportunity.
            let lookups = ReconciliationLookups(
                begin: receiver.now().advanced(by: .zero - ReconciliationSchedule.pause.atTestSpeed()),
                timeLimit: Self.waitingTimeLimit)
            try await inEachScope { includes throws(StorageError) in
                try await lookUp(.waiting, lookups, includes) { () throws(StorageError) in try await !isDue() }
            }
            return progress.now
        }
    }

    private func holdingLease(
        _ body: () async throws(StorageError) -> ReconciliationCounts?
    ) async throws(StorageError) -> ReconciliationCounts? {
        let counts = try await TaskLease.whileHolding(.reconciliation, in: store.leases) {
            [progress] isHeld throws(StorageError) -> ReconciliationCounts? in
            // A lookup can wait an hour for the rate limit, so the loss of the lease is noticed beside it.
            let watch = Task {
                while (try? await Task.sleep(for: .seconds(5))) != nil {
                    if await !isHeld() { progress.stop() }
                }
            }
            defer { watch.cancel() }
            return try await body()
        }
        return counts ?? nil
    }

    /// Runs all steps. A step that fails for an app is skipped for it, and named in the result.
    private func run(after last: ReconciliationRow?) async throws(StorageError) -> ReconciliationCounts {
        let now = receiver.now()
        var row = ReconciliationSchedule.row(after: last, window: window, at: now)
        (row.failed, row.continuesAt) = (0, nil)
        progress.change { $0 = ReconciliationCounts(row) }
        try await store.reconciliations.save(row)
        let plan = ReconciliationPlan(window: window, at: now)
        try await addExpiries()
        let lookups = ReconciliationLookups(begin: row.startedAt, timeLimit: Self.timeLimit)
        let begin = row.startedAt
        try await inEachScope { includes throws(StorageError) in
            await readHistory(plan.history, includes)
            for list in plan.lookupsBeforeRefunds { try await lookUp(list, lookups, includes, saveProgress) }
            try await readRefunds(since: begin, includes)
            for list in plan.lookupsAfterRefunds { try await lookUp(list, lookups, includes, saveProgress) }
        }
        return try await end()
    }

    /// Stores the result. A run that stopped early is not ended.
    private func end() async throws(StorageError) -> ReconciliationCounts {
        let (now, isStopped) = (receiver.now(), progress.isStopped)
        progress.change { counts in
            if !failures.isEmpty {
                counts.row.continuesAt = ReconciliationSchedule.continuation(at: now)
            } else if !isStopped {
                counts.row.endedAt = max(now, counts.row.startedAt)
            }
        }
        try await store.reconciliations.save(progress.now.row)
        return progress.now
    }

    /// Adds the ends of transactions that an earlier version stored.
    private func addExpiries() async throws(StorageError) {
        var first: Int64?
        while !progress.isStopped {
            let page = try await store.reconciliations.transactionsWithoutExpiry(limit: Self.expiryPage)
            // A page that comes again was not changed, because the store is damaged.
            guard let next = page.first?.id, next != first else { return }
            first = next
            try await store.reconciliations.addExpiries(
                page.map { ($0.id, Signed<TransactionPayload>(storedText: $0.text)?.payload.expiresDate) })
            // The rest of a shorter page is locked by other writers, and has been given its ends by them.
            guard page.count == Self.expiryPage else { return }
        }
    }

    // MARK: - Notification history

    /// Receives the notifications of the history that are not stored.
    private func readHistory(_ interval: HistoryWindows.Window, _ includes: ScopeFilter) async {
        let clients = HistoryClient.all(
            of: clients.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) })
        for each in clients where !progress.isStopped {
            let scope = AppScope(bundleId: each.bundleId, environment: each.environment)
            guard includes(scope) else { continue }
            let new = Mutex(0)
            let catchUp = NotificationCatchUp(
                client: each.client, environment: each.environment, receiver: receiver
            ) { NotificationQuery(startDate: $0.start, endDate: $0.end) }
            do {
                _ = try await catchUp.run(
                    over: HistoryWindows(
                        from: max(interval.start, HistoryWindows.oldest(in: each.environment, at: interval.end)),
                        to: interval.end, length: Self.historyWindow),
                    counts: { counts in
                        let added = new.withLock { new in
                            defer { new = counts.new }
                            return counts.new - new
                        }
                        progress.change { $0.row.notifications += Int64(added) }
                    },
                    checkpoint: { _ in !progress.isStopped })
                failures.succeeded(scope)
            } catch {
                note(.history, scope, nil, error)
            }
            receiver.events.add(.reconciledNotifications, new.withLock(\.self))
        }
    }

    // MARK: - Lookups

    /// Looks up the customers of a list, page by page.
    ///
    /// - Parameters:
    ///   - includes: whether the customers of an app are looked up.
    ///   - checkpoint: called after each page; `false` ends the list.
    private func lookUp(
        _ list: ReconciliationPlan.Lookups, _ lookups: ReconciliationLookups, _ includes: ScopeFilter,
        _ checkpoint: () async throws(StorageError) -> Bool
    ) async throws(StorageError) {
        var position: ReconciliationPage.Position? = list == .waiting ? .newest : .start
        while let start = position, !progress.isStopped {
            let page =
                switch list {
                case .ending(let interval):
                    try await store.reconciliations.customers(
                        endingIn: interval, notAskedSince: lookups.begin, after: start)
                case .waiting:
                    try await store.reconciliations.customers(
                        with: receiver.lookupNeed, notAskedSince: lookups.begin, after: start)
                }
            try await forEach(lookups.new(of: page.targets.filter { includes($0.scope) })) {
                target throws(StorageError) in
                guard let client = self.client(of: target.scope),
                    try await self.isStored(target.identifier, target.scope)
                else { return }
                try await self.lookUp(target, client, lookups, isWaiting: list == .waiting)
            }
            position = page.next
            guard try await checkpoint() else { return }
        }
    }

    /// Stores how far the run is.
    private func saveProgress() async throws(StorageError) -> Bool {
        try await store.reconciliations.save(progress.now.row)
        return true
    }

    private func lookUp(
        _ target: ReconciliationTarget, _ client: ServerAPIClient, _ lookups: ReconciliationLookups, isWaiting: Bool
    ) async throws(StorageError) {
        let scope = target.scope
        let keys = CustomerIdentifiers(originalTransactionIds: [target.identifier.rawValue], transactionIds: [])
        let askedAt = receiver.now()
        let records: CustomerRecords
        do throws(UpstreamError) {
            records = try await client.records(
                for: keys, bundleId: scope.bundleId.rawValue, environment: scope.environment,
                Self.options(lookups.timeLimit))
        } catch {
            guard error.isAnswer else { return note(.customer, scope, target.identifier, error) }
            failures.succeeded(scope)
            if isWaiting, let customer = target.customer { try await store.reconciliations.markUnknown(customer) }
            return progress.change { $0.unknown += 1 }
        }
        failures.succeeded(scope)
        var differs = false
        if let row = CustomerRow(records, keys: keys, askedAt: askedAt) {
            let targetKeys = reportTargets(of: scope)
            differs = try await store.customers.save(row, of: scope, source: .reconcile, reportingTo: targetKeys)
            lookups.stored(target)
            receiver.revocations.recordStored(records.transactions.lazy.map(\.payload), in: scope)
            receiver.invalidate(records.watchedIdentifiers, in: scope)
            if differs, !targetKeys.isEmpty { receiver.arrivals.signal() }
        }
        progress.change { counts in
            counts.row.customers += 1
            if differs { counts.row.different += 1 }
        }
        receiver.events.add(.reconciledCustomers)
        if differs { receiver.events.add(.reconciledDifferences) }
    }

    // MARK: - Refunds

    /// Reads the refund histories of all customers that were not read since the beginning.
    private func readRefunds(since begin: Timestamp, _ includes: ScopeFilter) async throws(StorageError) {
        var position: Int64? = 0
        while let start = position, !progress.isStopped {
            let page = try await store.refunds.refundTargets(notSweptSince: begin, after: start)
            try await forEach(page.targets.filter { includes($0.scope) }) { target throws(StorageError) in
                guard let client = self.client(of: target.scope, counts: false),
                    try await self.isStored(target.identifier, target.scope)
                else { return }
                try await self.readRefunds(of: target, client)
            }
            position = page.next
            try await store.reconciliations.save(progress.now.row)
        }
    }

    private func readRefunds(of target: RefundTarget, _ client: ServerAPIClient) async throws(StorageError) {
        let scope = target.scope
        var refunds: [Signed<TransactionPayload>] = []
        var revision: String?
        do throws(UpstreamError) {
            (refunds, revision) = try await client.refunds(
                target.identifier, in: scope.environment, since: target.revision, Self.options(Self.timeLimit))
            revision = revision ?? target.revision
        } catch {
            guard error.isAnswer else { return note(.refunds, scope, target.identifier, error) }
        }
        failures.succeeded(scope)
        let targetKeys = reportTargets(of: scope)
        let unknown = try await store.refunds.save(
            refunds.compactMap { RefundRow($0) }, of: target, revision: revision, at: receiver.now(),
            source: .reconcile, reportingTo: targetKeys)
        receiver.revocations.recordStored(refunds.lazy.map(\.payload), in: scope)
        if unknown > 0 {
            receiver.invalidate(
                refunds.flatMap { [$0.payload.originalTransactionId, $0.payload.appTransactionId] }.compactMap { $0 },
                in: scope)
            if !targetKeys.isEmpty { receiver.arrivals.signal() }
            receiver.events.add(.reconciledRefunds, unknown)
        }
        progress.change { counts in
            counts.swept += 1
            counts.row.refunds += Int64(unknown)
        }
    }

    // MARK: - Parts

    /// Returns the client of an app; `nil` if it has no key or was given up.
    private func client(of scope: AppScope, counts: Bool = true) -> ServerAPIClient? {
        guard let client = clients[scope.bundleId] else {
            if counts { progress.change { $0.withoutKey += 1 } }
            return nil
        }
        return failures.includes(scope) ? nil : client
    }

    /// Returns whether a customer is still stored. One that was erased since the page was read must not be stored
    /// again.
    private func isStored(
        _ identifier: TransactionIdentifier, _ scope: AppScope
    ) async throws(StorageError) -> Bool {
        try await !store.customers.recordedIdentifiers([identifier], of: scope.bundleId).isEmpty
    }

    /// The targets that get what only a lookup found.
    private func reportTargets(of scope: AppScope) -> [ForwardingTargetKey] {
        receiver.apps.configured(scope.bundleId)?.reportTargetKeys ?? []
    }

    /// Records something that could not be checked.
    private func note(
        _ subject: ReconciliationGap.Subject, _ scope: AppScope, _ identifier: TransactionIdentifier?,
        _ error: any Error
    ) {
        // A call that was interrupted by the end of the process is not a failure.
        guard !progress.isStopped else { return }
        receiver.events.add(.reconciliationFailures)
        progress.change {
            $0.add(ReconciliationGap(subject: subject, scope: scope, identifier: identifier, reason: "\(error)"))
        }
        guard let error = error as? UpstreamError, failures.failed(scope, error) else { return }
        let reason = "the rest was not asked about, because calls to the App Store fail"
        progress.change { $0.add(ReconciliationGap(subject: .app, scope: scope, identifier: nil, reason: reason)) }
    }

    private static func options(_ timeLimit: Duration) -> CallOptions {
        CallOptions(priority: .batch, timeLimit: timeLimit, maximumCalls: maximumCalls)
    }
}

extension UpstreamError {
    /// Whether the App Store said that the customer does not exist, or no longer.
    fileprivate var isAnswer: Bool { isUnknownTransaction || errorNumber == .accountNotFound }
}
