import ReceiptBridgeBase
import ReceiptBridgeStorage
import Synchronization

/// Customers whose data changed, at Apple or in the store. Records that were taken before the change are out of date.
///
/// Records are valid as long as no change of their customer was logged since the instant at which their lookup or their
/// read began. So records that were on their way during a change count as taken before it.
final class CacheInvalidationLog: Sendable {
    private struct Key: Hashable {
        let scope: AppScope
        let identifier: String
    }

    private struct Change {
        /// Of something at Apple, for example a refund.
        var event: ContinuousClock.Instant?
        /// Of the records in the store, without an event.
        var stored: ContinuousClock.Instant?
        /// The begin of the lookup whose records the store received then. `nil` if the records are of another server,
        /// or if this server cannot tell which of two lookups the store has.
        var lookup: ContinuousClock.Instant?

        /// Returns whether records are out of date whose lookup or read began at the given instant.
        func affects(_ begin: ContinuousClock.Instant, inStore: Bool) -> Bool {
            if let event, event >= begin { return true }
            guard inStore, let stored, stored >= begin else { return false }
            return lookup != begin
        }
    }

    private struct State {
        /// `nil` before the first change.
        var last: ContinuousClock.Instant?
        var changes: [Key: Change] = [:]
        /// Records that were taken earlier count as out of date, because the changes before this instant were removed
        /// from the table.
        var floor: ContinuousClock.Instant?
    }

    /// Maximum number of identifiers in the table, about 250 bytes each. If it is exceeded, the table is cleared and
    /// all records count as out of date.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int = ProcessMemory.Cache.changes.size() / 250) { self.capacity = capacity }

    /// Logs that something about the customer with these identifiers changed at Apple.
    func markChanged(_ identifiers: [String], in scope: AppScope) { mark(identifiers, in: scope) { $0.event = $1 } }

    /// Logs that the store received records of the customer with these identifiers.
    ///
    /// - Parameter lookup: the begin of the lookup that returned them; `nil` if another server stored them.
    func markStored(_ identifiers: [String], in scope: AppScope, by lookup: ContinuousClock.Instant?) {
        mark(identifiers, in: scope) { change, now in
            // Which of two lookups the store has is known only if one began after the other was stored.
            let isNewest = lookup.map { begin in change.stored.map { $0 < begin } ?? true } ?? false
            change.lookup = isNewest || change.lookup == lookup ? lookup : nil
            change.stored = now
        }
    }

    private func mark(
        _ identifiers: [String], in scope: AppScope, _ change: (inout Change, ContinuousClock.Instant) -> Void
    ) {
        state.withLock { state in
            let now = ContinuousClock.now
            state.last = now
            if state.changes.count + identifiers.count > capacity {
                state.changes = [:]
                state.floor = now
            }
            for identifier in identifiers {
                change(&state.changes[Key(scope: scope, identifier: identifier), default: Change()], now)
            }
        }
    }

    /// Logs a change of every customer, for example after customer data was erased from the store.
    func markAllChanged() {
        state.withLock { state in
            let now = ContinuousClock.now
            (state.last, state.floor, state.changes) = (now, now, [:])
        }
    }

    /// Returns whether no change was logged for any of the identifiers at that instant or after it.
    ///
    /// - Parameter inStore: whether changes of the store without an event count as well.
    func isUnchanged(
        _ identifiers: [String], in scope: AppScope, since begin: ContinuousClock.Instant, inStore: Bool
    ) -> Bool {
        state.withLock { state in
            guard let last = state.last, last >= begin else { return true }
            if let floor = state.floor, floor >= begin { return false }
            return !identifiers.contains { identifier in
                state.changes[Key(scope: scope, identifier: identifier)]?.affects(begin, inStore: inStore) ?? false
            }
        }
    }
}
