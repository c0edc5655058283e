import StoreTypes
import Synchronization
import TestSupport

/// A clock that a test sets.
final class MovableClock: Sendable {
    private let instant: Mutex<Timestamp>

    init(_ start: Timestamp = SharedSimulator.noon) {
        instant = Mutex(start)
    }

    var now: Timestamp {
        get { instant.withLock { $0 } }
        set { instant.withLock { $0 = newValue } }
    }
}
