import Base
package import Storage
import Synchronization

/// Customers whose data changed. Cached values that were read before the change are discarded.
///
/// A value is valid as long as no change of its customer was recorded since the instant at which its read began. So a
/// value whose read was in progress during a change counts as read before it.
package final class CacheInvalidationLog: Sendable {
    private struct Key: Hashable {
        let scope: AppScope
        let identifier: String
    }

    private struct State {
        /// `nil` before the first change.
        var last: ContinuousClock.Instant?
        var changes: [Key: ContinuousClock.Instant] = [:]
        /// Values that were read earlier count as changed, because the changes before this instant were removed from
        /// the table.
        var floor: ContinuousClock.Instant?
    }

    /// Maximum number of identifiers in the table, about 150 bytes each. If it is exceeded, the table is cleared and
    /// all cached values count as changed.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int = 100_000) {
        self.capacity = capacity
    }

    /// Records a change of the customer with these identifiers.
    package func markChanged(_ identifiers: [String], in scope: AppScope) {
        state.withLock { state in
            let now = ContinuousClock.now
            state.last = now
            if state.changes.count + identifiers.count > capacity {
                state.changes = [:]
                state.floor = now
            }
            for identifier in identifiers { state.changes[Key(scope: scope, identifier: identifier)] = now }
        }
    }

    /// Records a change of every customer, for example after customer data was erased from the store.
    func markAllChanged() {
        state.withLock { state in
            let now = ContinuousClock.now
            (state.last, state.floor, state.changes) = (now, now, [:])
        }
    }

    /// Returns whether no change was recorded for any of the identifiers at that instant or after it.
    func isUnchanged(_ identifiers: [String], in scope: AppScope, since begin: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard let last = state.last, last >= begin else { return true }
            if let floor = state.floor, floor >= begin { return false }
            return identifiers.allSatisfy { identifier in
                state.changes[Key(scope: scope, identifier: identifier)].map { $0 < begin } ?? true
            }
        }
    }
}
