import Base
package import Storage
import Synchronization

/// Customers whose data changed. Cached values that were read before the change are discarded.
///
/// The log counts changes instead of using a clock. A caller takes the current ``mark`` before it reads, and the
/// value is valid as long as no change of its customer was recorded after that mark. So a value whose read was in
/// progress during a change counts as read before it.
package final class CacheInvalidationLog: Sendable {
    private struct Key: Hashable {
        let scope: AppScope
        let identifier: String
    }

    private struct State {
        var mark: UInt64 = 0
        var changes: [Key: UInt64] = [:]
        /// Values with an older mark count as changed, because the changes before this mark were removed from the
        /// table.
        var floor: UInt64 = 0
    }

    /// Maximum number of identifiers in the table, about 150 bytes each. If it is exceeded, the table is cleared and
    /// all cached values count as changed.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int = 100_000) {
        self.capacity = capacity
    }

    /// The current mark: the number of changes so far.
    var mark: UInt64 { state.withLock { $0.mark } }

    /// Records a change of the customer with these identifiers.
    package func markChanged(_ identifiers: [String], in scope: AppScope) {
        state.withLock { state in
            state.mark += 1
            if state.changes.count + identifiers.count > capacity {
                state.changes = [:]
                state.floor = state.mark
            }
            for identifier in identifiers { state.changes[Key(scope: scope, identifier: identifier)] = state.mark }
        }
    }

    /// Records a change of every customer, for example after customer data was erased from the store.
    func markAllChanged() {
        state.withLock { state in
            state.mark += 1
            state.changes = [:]
            state.floor = state.mark
        }
    }

    /// Returns whether no change was recorded for any of the identifiers after the mark.
    func isUnchanged(_ identifiers: [String], in scope: AppScope, since mark: UInt64) -> Bool {
        state.withLock { state in
            guard mark >= state.floor else { return false }
            guard mark < state.mark else { return true }
            return identifiers.allSatisfy { state.changes[Key(scope: scope, identifier: $0)] ?? 0 <= mark }
        }
    }
}
