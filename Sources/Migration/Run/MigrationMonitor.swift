package import Ledger
import Synchronization

/// What those outside see of a run while it goes on, and how they stop it.
package final class MigrationMonitor: Sendable {
    /// Where a run is.
    package struct Snapshot: Sendable {
        package enum Phase: String, Sendable {
            case reading, asking, writing, linking, done
        }

        package var phase = Phase.reading
        package var counts = MigrationCounts()
        /// Rows that earlier runs did.
        package var earlierRows: Int64 = 0
        /// Bytes, rows or files of the source, as far as its end can be seen: how many of how many.
        package var fraction: Double?
        /// Of that, what earlier runs did.
        package var earlierFraction: Double = 0
        package var customers = CustomerTally()
        package var calls: Int64 = 0
        package var budgetLeft: Int64?
        package var accounts = Accounts()
    }

    /// Customers whose account tokens are set, or would be.
    package struct Accounts: Sendable {
        package var all: Int64 = 0
        package var done: Int64 = 0
        package var failed: Int64 = 0
    }

    private struct State {
        var snapshot = Snapshot()
        var isStopped = false
    }

    private let state = Mutex(State())

    package init() {}

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// The run ends at its next checkpoint.
    package func stop() { state.withLock { $0.isStopped = true } }

    package var isStopped: Bool { state.withLock { $0.isStopped } }

    func show(_ change: (inout Snapshot) -> Void) { state.withLock { change(&$0.snapshot) } }
}
