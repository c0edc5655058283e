import StoreTypes
import Synchronization

/// A rate limit: at most `limit` events in each second of the clock. Unused events are not carried over to the next
/// second.
final class TokenBucket: Sendable {
    private struct State {
        var second: Int64 = .min
        var count = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Returns whether an event is within the limit, and counts it.
    func allows(at now: Timestamp) -> Bool {
        state.withLock { state in
            if state.second != now.seconds { state = State(second: now.seconds) }
            state.count += 1
            return state.count <= limit
        }
    }
}
