import Synchronization

/// Shared state of a running comparison: its progress, and a flag that stops it.
package final class ComparisonMonitor: Sendable {
    /// Progress of a run.
    package struct Snapshot: Sendable {
        /// Number of processed rows, including those of earlier runs.
        package var rows: Int64 = 0
        /// Number of compared rows.
        package var compared: Int64 = 0
        /// Number of compared rows with an unexpected difference.
        package var unexpected: Int64 = 0
        /// Number of rows that could not be compared.
        package var failed: Int64 = 0
        /// Number of App Store Server API calls in this run.
        package var calls: Int64 = 0
        /// Fraction of the source that has been read, 0 to 1; `nil` if the size of the source is unknown.
        package var fraction: Double?
    }

    private let state = Mutex((snapshot: Snapshot(), isStopped: false))

    /// Creates a monitor of a run that has not started.
    package init() {}

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Stops the run. Comparisons in flight are canceled.
    package func stop() { state.withLock { $0.isStopped = true } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func show(_ snapshot: Snapshot) { state.withLock { $0.snapshot = snapshot } }
}
