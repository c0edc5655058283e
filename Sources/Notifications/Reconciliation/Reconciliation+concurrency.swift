import Base
import Storage

/// What a reconciliation does at the same time.
extension Reconciliation {
    /// Number of customers that are looked up concurrently.
    private static let workers = 4

    typealias ScopeFilter = @Sendable (AppScope) -> Bool

    /// Does work for each app in each environment at the same time, so that one whose hourly limit is used up does not
    /// hold up the others. The last one is for all apps without a key.
    func inEachScope(
        _ body: @escaping @Sendable (_ includes: @escaping ScopeFilter) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        let scopes = clients.keys.flatMap { bundleId in
            [AppStoreEnvironment.production, .sandbox].map { AppScope(bundleId: bundleId, environment: $0) }
        }
        try await withTaskGroup(of: Result<Void, StorageError>.self) { group in
            for scope in scopes + [nil] {
                group.addTask {
                    do throws(StorageError) {
                        return .success(try await body { scope == nil ? !scopes.contains($0) : $0 == scope })
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for await result in group where (try? result.get()) == nil {
                group.cancelAll()
                return result
            }
            return .success(())
        }.get()
    }

    /// Works on several items of a page at the same time, until the run is stopped or the store fails.
    func forEach<Item: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        let result = await withTaskGroup(of: Result<Void, StorageError>.self) { group in
            var rest = items[...]
            var result = Result<Void, StorageError>.success(())
            func addNext() {
                guard !progress.isStopped, case .success = result, let item = rest.popFirst() else { return }
                group.addTask {
                    do throws(StorageError) {
                        return .success(try await body(item))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for _ in 0..<Self.workers { addNext() }
            while let next = await group.next() {
                if case .failure = next { result = next }
                addNext()
            }
            return result
        }
        try result.get()
    }
}
