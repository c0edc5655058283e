import StoreTypes
import Synchronization

/// Admits a few things in each second of the clock.
final class TokenBucket: Sendable {
    private struct State {
        var second: Int64 = .min
        var count = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    func allows(at now: Timestamp) -> Bool {
        state.withLock { state in
            if state.second != now.seconds { state = State(second: now.seconds) }
            state.count += 1
            return state.count <= limit
        }
    }
}
