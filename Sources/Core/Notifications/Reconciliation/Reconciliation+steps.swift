import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The calls of a reconciliation, and what is stored of their answers.
extension Reconciliation {
    // MARK: - Notification history

    /// Receives the notifications of the history that are not stored.
    func readHistory(_ plan: ReconciliationPlan, _ includes: ScopeFilter) async throws(StorageError) {
        let clients = HistoryClient.all(of: clients.map { ($0.key, $0.value) })
        for each in clients where !progress.isStopped {
            let scope = AppScope(bundleId: each.bundleId, environment: each.environment)
            guard includes(scope) else { continue }
            let before = progress.now.row
            var new = 0
            let catchUp = NotificationCatchUp(
                client: each.client, environment: each.environment, receiver: receiver
            ) { NotificationQuery(startDate: $0.start, endDate: $0.end) }
            do {
                _ = try await catchUp.run(
                    over: plan.history(in: each.environment, readUntil: before.history[scope]),
                    counts: { counts in
                        let added = counts.new - new
                        new = counts.new
                        progress.change { $0.row.notifications += Int64(added) }
                    },
                    checkpoint: { end in
                        progress.change { $0.row.history[scope] = end }
                        try await saveProgress()
                        return !progress.isStopped
                    })
                failures.succeeded(scope)
            } catch let error as StorageError {
                throw error
            } catch let error as NotificationRejection where [.noStore, .storeUnavailable].contains(error.code) {
                throw StorageError(.failed, at: "notification history", error.reason)
            } catch {
                note(.history, scope, nil, error)
            }
            receiver.metrics.events.add(MetricEvent.reconciledNotifications, by: Int64(new))
        }
    }

    // MARK: - Lookups

    /// Looks up customers, page by page.
    ///
    /// - Parameters:
    ///   - interval: when their subscriptions end; `nil` for those that need a lookup.
    ///   - includes: whether the customers of an app are looked up.
    func lookUp(
        _ interval: ReconciliationInterval?, _ lookups: ReconciliationLookups, _ includes: ScopeFilter
    ) async throws(StorageError) {
        var position: ReconciliationPage.Position? = interval == nil ? .newest : .start
        while let start = position, !progress.isStopped {
            let page =
                if let interval {
                    try await store.reconciliations.customers(
                        endingIn: interval, notAskedSince: lookups.begin, after: start)
                } else {
                    try await store.reconciliations.customers(
                        with: receiver.lookupNeed, notAskedSince: lookups.begin, after: start)
                }
            try await forEach(lookups.new(of: page.targets.filter { includes($0.scope) })) {
                target throws(StorageError) in
                guard let client = self.client(of: target.scope) else { return }
                try await self.lookUp(target, client, lookups, isWaiting: interval == nil)
            }
            position = page.next
            if interval != nil { try await saveProgress() }
        }
    }

    private func lookUp(
        _ target: ReconciliationTarget, _ client: ServerAPIClient, _ lookups: ReconciliationLookups, isWaiting: Bool
    ) async throws(StorageError) {
        let scope = target.scope
        guard try await store.customers.isRecorded(target.identifier, of: scope.bundleId) else { return }
        let keys = CustomerIdentifiers(originalTransactionIds: [target.identifier.rawValue], transactionIds: [])
        let askedAt = receiver.now()
        let records: CustomerRecords
        do throws(UpstreamError) {
            records = try await client.records(
                for: keys, bundleId: scope.bundleId.rawValue, environment: scope.environment,
                .lookup(within: lookups.timeLimit))
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
            // The customer may have been erased while the App Store answered.
            guard
                let found = try await store.customers.save(
                    row, of: scope, source: .reconcile, ifRecorded: target.identifier, reportingTo: targetKeys)
            else { return }
            differs = found
            lookups.stored(target)
            receiver.revocations.recordStored(records.transactions.lazy.map(\.payload), in: scope)
            receiver.invalidate(records.watchedIdentifiers, in: scope)
            if differs, !targetKeys.isEmpty { receiver.arrivals.signal() }
        }
        progress.change { counts in
            counts.row.customers += 1
            if differs { counts.row.different += 1 }
        }
        receiver.metrics.events.add(MetricEvent.reconciledCustomers)
        if differs { receiver.metrics.events.add(MetricEvent.reconciledDifferences) }
    }

    // MARK: - Refunds

    /// Reads the refund histories of all customers of an app that this reconciliation has not read.
    func readRefunds(in scope: AppScope) async throws(StorageError) {
        var position: Int64? = progress.now.row.refunded[scope] ?? 0
        while let start = position {
            let page = try await store.refunds.refundTargets(after: start)
            try await forEach(page.targets.filter { $0.scope == scope }) { target throws(StorageError) in
                guard let client = self.client(of: scope, counts: false) else { return }
                try await self.readRefunds(of: target, client)
            }
            // What was left out of the page is read when the reconciliation continues.
            guard !progress.isStopped, !failures.includes(scope, at: receiver.now()) else { return }
            position = page.next
            progress.change { $0.row.refunded[scope] = position ?? .max }
            try await saveProgress()
        }
    }

    private func readRefunds(of target: RefundTarget, _ client: ServerAPIClient) async throws(StorageError) {
        let scope = target.scope
        guard try await store.customers.isRecorded(target.identifier, of: scope.bundleId) else { return }
        let history: RefundHistory?
        do throws(UpstreamError) {
            history = try await RefundHistory(of: target, from: client, .lookup(within: Self.timeLimit))
        } catch {
            return note(.refunds, scope, target.identifier, error)
        }
        failures.succeeded(scope)
        guard let history else { return progress.change { $0.swept += 1 } }
        let targetKeys = reportTargets(of: scope)
        guard
            let unknown = try await history.save(
                to: store.refunds, at: receiver.now(), source: .reconcile, reportingTo: targetKeys)
        else { return }
        let refunds = history.refunds
        receiver.revocations.recordStored(refunds.lazy.map(\.payload), in: scope)
        if unknown > 0 {
            receiver.invalidate(
                refunds.flatMap { [$0.payload.originalTransactionId, $0.payload.appTransactionId] }.compactMap { $0 },
                in: scope)
            if !targetKeys.isEmpty { receiver.arrivals.signal() }
            receiver.metrics.events.add(MetricEvent.reconciledRefunds, by: Int64(unknown))
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
        return failures.includes(scope, at: receiver.now()) ? nil : client
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
        receiver.metrics.events.add(MetricEvent.reconciliationFailures)
        progress.change {
            $0.add(ReconciliationGap(subject: subject, scope: scope, identifier: identifier, reason: "\(error)"))
        }
        guard let error = error as? UpstreamError, failures.failed(scope, error, at: receiver.now()) else { return }
        let reason = "the rest was not asked about, because calls to the App Store fail"
        progress.change { $0.add(ReconciliationGap(subject: .app, scope: scope, identifier: nil, reason: reason)) }
    }
}

extension CallOptions {
    /// 600 calls at most, retries included.
    fileprivate static func lookup(within timeLimit: Duration) -> CallOptions {
        CallOptions(priority: .batch, timeLimit: timeLimit, maximumCalls: 600)
    }
}
