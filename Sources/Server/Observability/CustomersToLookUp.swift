import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import Synchronization

/// How many customers need a lookup, see ``LookupNeed``. The store counts them at most every ten seconds.
final class CustomersToLookUp: Sendable {
    private static let interval = Duration.seconds(10).atTestSpeed()

    private let last = Mutex<(count: Int64?, at: ContinuousClock.Instant)?>(nil)

    /// Returns the count; `nil` without a store, or before the first count. Concurrent callers get the last count.
    func count(in store: (any Store)?, of pipelines: ServiceGraph) async -> Int64? {
        guard let store, store.isOpen else { return nil }
        let (isDue, known) = last.withLock { last in
            let isDue = last.map { .now - $0.at >= Self.interval } ?? true
            if isDue { last = (last?.count, .now) }
            return (isDue, last?.count)
        }
        guard isDue else { return known }
        let need = pipelines.notifications.lookupNeed
        guard let count = try? await store.reconciliations.countCustomers(with: need) else { return known }
        last.withLock { $0?.count = count }
        return count
    }
}
