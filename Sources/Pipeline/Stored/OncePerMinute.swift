import StoreTypes
import Synchronization

/// Lets something through at most once a minute for each name, so that what happens all the time does not fill the log.
final class OncePerMinute<Name: Hashable & Sendable>: Sendable {
    private let last = Mutex<[Name: Timestamp]>([:])
    /// Names that are remembered; the oldest go.
    private let capacity: Int

    init(capacity: Int = 10_000) {
        self.capacity = capacity
    }

    func admits(_ name: Name, at now: Timestamp) -> Bool {
        last.withLock { last in
            if let before = last[name], before <= now, now < before.advanced(byMilliseconds: 60_000) { return false }
            if last.count >= capacity {
                last = last.filter { $0.value <= now && now < $0.value.advanced(byMilliseconds: 60_000) }
                // All of this minute: more than anybody should have, so that nobody gets through for a while.
                guard last.count < capacity else { return false }
            }
            last[name] = now
            return true
        }
    }
}
