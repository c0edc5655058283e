import Synchronization

/// What those outside see of a comparison while it goes on, and how they stop it.
package final class ComparisonMonitor: Sendable {
    /// Where a run is.
    package struct Snapshot: Sendable {
        /// Rows that are done, those of earlier runs included.
        package var rows: Int64 = 0
        package var compared: Int64 = 0
        package var unexpected: Int64 = 0
        package var failed: Int64 = 0
        package var calls: Int64 = 0
        /// Of the source, 0 to 1, as far as its end can be seen.
        package var fraction: Double?
    }

    private let state = Mutex((snapshot: Snapshot(), isStopped: false))

    package init() {}

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// The run ends, and gives up what is under way.
    package func stop() { state.withLock { $0.isStopped = true } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func show(_ snapshot: Snapshot) { state.withLock { $0.snapshot = snapshot } }
}
