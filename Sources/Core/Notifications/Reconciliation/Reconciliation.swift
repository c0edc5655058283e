package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Asks the App Store about changes that no notification reported, see ``ReconciliationPlan``. What differs is stored
/// by the rules of any lookup: a record that was signed later is never replaced.
///
/// A run that was killed or stopped is continued by the next one: a customer that was looked up is not looked up
/// again, the notification history is read from where it was, and everything else can be repeated without harm.
package struct Reconciliation: Sendable {
    /// Number of transactions whose ends are added at once.
    private static let expiryPage = 500
    /// Time limit of a lookup in a run: it may wait for the hourly limit.
    static let timeLimit = Duration.hours(1)
    /// Time limit of a lookup of a customer that needs it. It is looked up at the next opportunity.
    private static let waitingTimeLimit = Duration.seconds(60)

    let receiver: NotificationReceiver
    let store: any Store
    let clients: [BundleIdentifier: ServerAPIClient]
    private let window: Int64
    let progress: ReconciliationProgress
    let failures: AppFailures

    /// - Parameters:
    ///   - clients: the clients of all apps that have a key; `nil` for those of the receiver.
    ///   - window: subscriptions that end within this many seconds before or after now are checked.
    package init(
        receiver: NotificationReceiver, store: any Store,
        clients: [(bundleId: BundleIdentifier, client: ServerAPIClient)]? = nil, window: Int64,
        progress: ReconciliationProgress, failures: AppFailures = AppFailures()
    ) {
        self.receiver = receiver
        self.store = store
        self.clients = Dictionary(
            (clients ?? receiver.serverAPI?.clients ?? []).map { ($0.bundleId, $0.client) }
        ) { first, _ in first }
        (self.window, self.progress, self.failures) = (window, progress, failures)
    }

    /// Runs while this process has the lease of reconciliations, and stops if it loses it.
    ///
    /// - Parameter schedule: says whether a reconciliation is due, once this process has the lease; `nil` if it is to
    ///   run in any case. Another process may have ended one just before.
    /// - Returns: `nil` if another process reconciles this store, or if none is due.
    package func runHoldingLease(
        on schedule: ReconciliationSchedule? = nil
    ) async throws(StorageError) -> ReconciliationCounts? {
        try await holdingLease(.reconciliation) { () throws(StorageError) in
            let last = try await store.reconciliations.lastReconciliation()
            if let schedule, !schedule.isDue(after: last, at: receiver.now()) { return nil }
            return try await run(after: last)
        }
    }

    /// Looks up the customers that need it, while this process has the lease of these lookups.
    ///
    /// - Returns: `nil` if there are none, or if another process looks them up.
    package func lookUpWaiting() async throws(StorageError) -> ReconciliationCounts? {
        guard try await store.reconciliations.countCustomers(with: receiver.lookupNeed) > 0 else { return nil }
        return try await holdingLease(.lookups) { () throws(StorageError) in
            // A customer whose lookups contradict each other is not looked up at every opportunity.
            let lookups = ReconciliationLookups(
                begin: receiver.now().advanced(by: .zero - AppFailures.longPause), timeLimit: Self.waitingTimeLimit)
            try await inEachScope { _, includes throws(StorageError) in try await lookUp(nil, lookups, includes) }
            return progress.now
        }
    }

    /// Runs all steps. A step that fails for an app is skipped for it, and named in the result.
    private func run(after last: ReconciliationRow?) async throws(StorageError) -> ReconciliationCounts {
        let now = receiver.now()
        var row = ReconciliationSchedule.row(after: last, window: window, at: now)
        (row.failed, row.continuesAt) = (0, nil)
        progress.change { $0 = ReconciliationCounts(row) }
        try await saveProgress()
        let (plan, begin) = (ReconciliationPlan(window: window, at: now), row.startedAt)
        try await addExpiries()
        let lookups = ReconciliationLookups(begin: begin, timeLimit: Self.timeLimit)
        try await inEachScope { scope, includes throws(StorageError) in
            try await readHistory(plan, includes)
            for interval in plan.ending { try await lookUp(interval, lookups, includes) }
            if let scope { try await readRefunds(in: scope) }
        }
        return try await end()
    }

    /// Stores the result. A run that stopped early is not ended. One that was canceled may belong to another process.
    private func end() async throws(StorageError) -> ReconciliationCounts {
        guard !Task.isCancelled else { return progress.now }
        let (now, isStopped) = (receiver.now(), progress.isStopped)
        progress.change { counts in
            counts.row.continuesAt = failures.firstEnd
            if !isStopped, failures.firstEnd == nil { counts.row.endedAt = max(now, counts.row.startedAt) }
        }
        try await saveProgress()
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

    func saveProgress() async throws(StorageError) { try await store.reconciliations.save(progress.now.row) }
}
