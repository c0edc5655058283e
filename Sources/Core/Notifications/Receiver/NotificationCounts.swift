import Synchronization

/// Counters of received notifications by result, since the start of the process.
package final class NotificationCounts: Sendable {
    /// The counter values at one time.
    package struct Snapshot: Sendable, Hashable {
        /// Notifications that were stored and acknowledged.
        package var stored: Int64 = 0
        /// Notifications that were already stored. They get the same response as new ones.
        package var repeated: Int64 = 0
        /// Rejected notifications by code.
        package var refused: [NotificationRejection.Code: Int64] = [:]
        /// Lookups for version 1 notifications that were dropped because too many were in progress.
        package var droppedHints: Int64 = 0
    }

    private let numbers = Mutex(Snapshot())

    package init() {}

    /// The current values.
    package var now: Snapshot { numbers.withLock { $0 } }

    /// Changes the values in one step.
    func count(_ change: (inout Snapshot) -> Void) { numbers.withLock { change(&$0) } }
}
