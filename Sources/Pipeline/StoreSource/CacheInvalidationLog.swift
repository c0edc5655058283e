import StoreTypes
import Ledger
import Synchronization

/// Which customers something became known of, so that what was kept of them in memory before counts no more.
///
/// Time is counted in changes, not by a clock: who asks takes a mark before asking, and what comes back is good while
/// nothing was noted of its customer since that mark. An answer that was under way during a change is thereby as old as
/// its question.
final class CacheInvalidationLog: Sendable {
    private struct Key: Hashable {
        let scope: AppScope
        let identifier: String
    }

    private struct State {
        var mark: UInt64 = 0
        var changes: [Key: UInt64] = [:]
        /// All older than this counts as changed: what is not remembered any more may have been.
        var floor: UInt64 = 0
    }

    /// Identifiers that are remembered, about 150 bytes each.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int = 100_000) {
        self.capacity = capacity
    }

    /// Now.
    var mark: UInt64 { state.withLock { $0.mark } }

    func markChanged(_ identifiers: [String], in scope: AppScope) {
        state.withLock { state in
            state.mark += 1
            if state.changes.count + identifiers.count > capacity {
                state.changes = [:]
                state.floor = state.mark
            }
            for identifier in identifiers { state.changes[Key(scope: scope, identifier: identifier)] = state.mark }
        }
    }

    /// Something may have become of anybody.
    func markAllChanged() {
        state.withLock { state in
            state.mark += 1
            state.changes = [:]
            state.floor = state.mark
        }
    }

    /// Whether nothing was noted of any of them since.
    func isUnchanged(_ identifiers: [String], in scope: AppScope, since mark: UInt64) -> Bool {
        state.withLock { state in
            guard mark >= state.floor else { return false }
            guard mark < state.mark else { return true }
            return identifiers.allSatisfy { state.changes[Key(scope: scope, identifier: $0)] ?? 0 <= mark }
        }
    }
}
