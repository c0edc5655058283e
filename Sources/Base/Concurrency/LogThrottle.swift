import Synchronization

/// A rate limit for log lines: at most one a minute for each name, so that a repeated event does not fill the log.
///
/// Names come from the configuration and the code, never from requests. Otherwise, a client could fill the table with
/// names of its own, and no other name would be allowed.
package final class LogThrottle<Name: Hashable & Sendable>: Sendable {
    private struct Entry {
        let time: Duration
        /// Events since `time` that were not logged.
        var suppressed: Int64 = 0

        /// Whether the two times differ by less than a minute. `now` may be the earlier one, because threads read the
        /// clock in another order than they come here, and because a wall clock may be set back.
        func isRecent(at now: Duration) -> Bool { time - .seconds(60) < now && now < time + .seconds(60) }
    }

    private let entries = Mutex<[Name: Entry]>([:])
    /// Maximum number of names. If it is reached, names older than a minute are removed; if all are recent, further
    /// names are suppressed.
    private let capacity: Int

    package init(capacity: Int = 10_000) { self.capacity = capacity }

    /// Returns whether an event may be logged. `now` is the time since any fixed instant, always by the same clock.
    package func allows(_ name: Name, at now: Duration) -> Bool { admission(of: name, at: now) != nil }

    /// Returns the number of events that were suppressed since the last allowed one; `nil` if this event is
    /// suppressed too.
    package func admission(of name: Name, at now: Duration) -> Int64? {
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
            entries[name] = Entry(time: now)
            return before?.suppressed ?? 0
        }
    }
}
