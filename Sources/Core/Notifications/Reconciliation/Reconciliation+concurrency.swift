import ReceiptBridgeBase
import ReceiptBridgeStorage

/// What a reconciliation does at the same time.
extension Reconciliation {
    typealias ScopeFilter = @Sendable (AppScope) -> Bool

    /// Does work for each app in each environment at the same time, so that one whose hourly limit is used up does not
    /// hold up the others. The last one is for all apps without a key.
    func inEachScope(
        _ body: @escaping @Sendable (AppScope?, _ includes: @escaping ScopeFilter) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        let scopes = clients.keys.flatMap { bundleId in
            [AppStoreEnvironment.production, .sandbox].map { AppScope(bundleId: bundleId, environment: $0) }
        }
        try await forEach(scopes + [nil], workers: scopes.count + 1) { scope throws(StorageError) in
            try await body(scope) { scope == nil ? !scopes.contains($0) : $0 == scope }
        }
    }

    /// Works on several items at the same time until the run is stopped, or the store fails. Then the others are
    /// canceled, because they may wait for an hourly limit.
    func forEach<Item: Sendable>(
        _ items: [Item], workers: Int = 4, _ body: @escaping @Sendable (Item) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        var rest = items[...]
        let run = Run(workers: workers, ahead: items.count) { [progress] _ in progress.isStopped ? .signal : nil }
        _ = try await run.run(next: { () throws(StorageError) in rest.popFirst() }, perform: body) {
            _, _ throws(StorageError) in
        }
    }

    /// Does work while this process has the lease of a task, and cancels it if the lease is lost: a lookup can wait an
    /// hour for the hourly limit.
    ///
    /// - Returns: `nil` if another process has the task.
    func holdingLease(
        _ task: SharedTask, _ body: @escaping @Sendable () async throws(StorageError) -> ReconciliationCounts?
    ) async throws(StorageError) -> ReconciliationCounts? {
        try await TaskLease.whileHolding(task, in: store.leases) { isHeld throws(StorageError) in
            try await withTaskGroup(of: Result<ReconciliationCounts?, StorageError>?.self) { group in
                group.addTask { await Result(catching: body) }
                group.addTask {
                    while (try? await Task.sleep(for: .seconds(5))) != nil, await isHeld() {}
                    return nil
                }
                var result: Result<ReconciliationCounts?, StorageError>?
                while let next = await group.next() {
                    group.cancelAll()
                    result = result ?? next
                }
                return result ?? .success(nil)
            }.get()
        } ?? nil
    }
}
