import Synchronization

/// How many notifications came, and what became of them, since the start.
package final class NotificationCounts: Sendable {
    /// One moment's numbers.
    package struct Snapshot: Sendable, Hashable {
        package var stored: Int64 = 0
        /// Known already: answered like stored ones.
        package var repeated: Int64 = 0
        package var refused: [NotificationRejection.Code: Int64] = [:]
        /// Of version 1, that would have asked for a look-up while too many were under way.
        package var droppedHints: Int64 = 0
    }

    private let numbers = Mutex(Snapshot())

    package init() {}

    /// Now.
    package var now: Snapshot { numbers.withLock { $0 } }

    func count(_ change: (inout Snapshot) -> Void) { numbers.withLock { change(&$0) } }
}
