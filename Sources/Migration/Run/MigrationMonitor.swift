package import Ledger
import Synchronization

/// Shared state of a running migration: its progress, and a flag that stops it.
package final class MigrationMonitor: Sendable {
    /// Progress of a run.
    package struct Snapshot: Sendable {
        /// Stage of a run.
        package enum Phase: String, Sendable {
            case reading, asking, writing, linking, done
        }

        package var phase = Phase.reading
        package var counts = MigrationCounts()
        /// Number of rows that earlier runs processed.
        package var earlierRows: Int64 = 0
        /// Fraction of the source that has been read, 0 to 1; `nil` if the size of the source is unknown.
        package var fraction: Double?
        /// Fraction of the source that earlier runs read.
        package var earlierFraction: Double = 0
        package var customers = CustomerTally()
        /// Number of App Store Server API calls in this run.
        package var calls: Int64 = 0
        /// Remaining history calls of this hour, for the app and environment that has the fewest; `nil` before the first
        /// call.
        package var budgetLeft: Int64?
        package var accounts = Accounts()
    }

    /// Number of customers whose account tokens are set, or would be in a dry run.
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

    /// Creates a monitor of a run that has not started.
    package init() {}

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Stops the run at its next checkpoint.
    package func stop() { state.withLock { $0.isStopped = true } }

    package var isStopped: Bool { state.withLock { $0.isStopped } }

    func show(_ change: (inout Snapshot) -> Void) { state.withLock { change(&$0.snapshot) } }
}
