import StoreTypes
import Synchronization

/// Lets something through at most once a minute for each name, so that what happens all the time does not fill the log.
///
/// Names come from the configuration and the code, never from requests. A table that a client fills with names of its
/// own would let nothing through.
final class LogThrottle<Name: Hashable & Sendable>: Sendable {
    private struct Entry {
        let date: Timestamp
        /// Since then.
        var suppressed: Int64 = 0

        func isRecent(at now: Timestamp) -> Bool { date <= now && now < date.advanced(byMilliseconds: 60_000) }
    }

    private let entries = Mutex<[Name: Entry]>([:])
    /// Names that are remembered; the oldest go.
    private let capacity: Int

    init(capacity: Int = 10_000) {
        self.capacity = capacity
    }

    func allows(_ name: Name, at now: Timestamp) -> Bool { admission(of: name, at: now) != nil }

    /// How many were suppressed since the last one that got through; nil if this one is suppressed too.
    func admission(of name: Name, at now: Timestamp) -> Int64? {
        entries.withLock { entries in
            let before = entries[name]
            if let before, before.isRecent(at: now) {
                entries[name]?.suppressed += 1
                return nil
            }
            if entries.count >= capacity {
                entries = entries.filter { $0.value.isRecent(at: now) }
                guard entries.count < capacity else { return nil }
            }
            entries[name] = Entry(date: now)
            return before?.suppressed ?? 0
        }
    }
}
