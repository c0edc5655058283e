/// A token bucket that holds the calls of one hour, starts full and refills evenly.
///
/// It uses no clock; the caller passes a monotonic time with any start. It is exact because it counts in billionths
/// of a call.
package struct HourlyBudget: Sendable, Hashable {
    /// The priority of a call.
    package enum Priority: Sendable, Hashable {
        /// A client is waiting for the response.
        case live
        /// A migration or a comparison. It leaves the reserve to live calls.
        case batch
        /// An additional call about something already answered, for example for a shadow comparison. It may use a
        /// small share of the bucket, and not the reserve.
        case background
    }

    /// The result of requesting a call.
    package enum Decision: Sendable, Hashable {
        /// The call is allowed and already counted.
        case granted
        /// The call is possible after this duration. Nothing was counted.
        case wait(Duration)
    }

    private static let call: Int64 = 1_000_000_000
    private static let hour: Int64 = 3_600

    /// The size of the bucket: the number of calls per hour.
    package let callsPerHour: Int64
    private let reserved: Int64
    private var level: Int64
    private var time: Duration
    private var pausedUntil: Duration = .zero

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - callsPerHour: 1 to 1,000,000; other values are clamped to that range.
    ///   - reserve: The share of the bucket, 0...1, that is reserved for live calls.
    ///   - now: The current time.
    package init(callsPerHour: Int64, reserve: Double, now: Duration) {
        self.callsPerHour = min(max(callsPerHour, 1), 1_000_000)
        level = self.callsPerHour * Self.call
        let share = reserve.isFinite ? min(max(reserve, 0), 1) : 0
        reserved = Int64(Double(self.callsPerHour) * share) * Self.call
        time = now
    }

    /// The number of whole calls left for a priority.
    package mutating func left(for priority: Priority, at now: Duration) -> Int64 {
        fill(at: now)
        return max(level - (priority == .live ? 0 : reserved), 0) / Self.call
    }

    /// Requests one call.
    package mutating func consume(_ priority: Priority, at now: Duration) -> Decision {
        fill(at: now)
        if now < pausedUntil { return .wait(pausedUntil - now) }
        let missing = Self.call + (priority == .live ? 0 : reserved) - level
        guard missing > 0 else {
            level -= Self.call
            return .granted
        }
        // Rounded up, so that the wait is long enough.
        return .wait(.nanoseconds((missing * Self.hour + callsPerHour - 1) / callsPerHour))
    }

    /// Blocks all calls until the given time, because Apple returned 429 with `Retry-After`.
    package mutating func pause(until instant: Duration) {
        pausedUntil = max(pausedUntil, instant)
    }

    /// Adds the calls for the time since the last refill. A clock that goes back adds nothing.
    private mutating func fill(at now: Duration) {
        guard now > time else { return }
        let full = callsPerHour * Self.call
        let elapsed = min(now - time, .seconds(Self.hour))
        let (seconds, attoseconds) = elapsed.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        // At most 3.6 · 10¹² · 10⁶ = 3.6 · 10¹⁸, which fits into 64 bits.
        level = min(full, level + nanoseconds * callsPerHour / Self.hour)
        time = now
    }
}
