/// How many calls may be made: a bucket of one hour's calls that starts full and fills up evenly.
///
/// Knows no clock: it is told the time, from any beginning. Exact: it counts in billionths of a call.
package struct HourlyBudget: Sendable, Hashable {
    /// Who wants to call.
    package enum Priority: Sendable, Hashable {
        /// Somebody waits for the answer.
        case live
        /// A migration or a comparison: it leaves the reserve to the others.
        case batch
        /// A second question about what was answered already: a small part of the bucket, and not the reserve.
        case background
    }

    /// Whether a call may be made.
    package enum Verdict: Sendable, Hashable {
        /// It is counted already.
        case granted
        /// Not before so long; nothing was counted.
        case wait(Duration)
    }

    private static let call: Int64 = 1_000_000_000
    private static let hour: Int64 = 3_600

    /// Calls an hour.
    package let callsPerHour: Int64
    private let reserved: Int64
    private var level: Int64
    private var time: Duration
    private var pausedUntil: Duration = .zero

    /// - Parameters:
    ///   - callsPerHour: 1 to 1,000,000; others are brought into that range.
    ///   - reserve: the part of the bucket, 0...1, that is live traffic's alone.
    ///   - now: the time at which the bucket is full.
    package init(callsPerHour: Int64, reserve: Double, now: Duration) {
        self.callsPerHour = min(max(callsPerHour, 1), 1_000_000)
        level = self.callsPerHour * Self.call
        let share = reserve.isFinite ? min(max(reserve, 0), 1) : 0
        reserved = Int64(Double(self.callsPerHour) * share) * Self.call
        time = now
    }

    /// Whole calls that are left for that priority.
    package mutating func left(for priority: Priority, at now: Duration) -> Int64 {
        fill(at: now)
        return max(level - (priority == .live ? 0 : reserved), 0) / Self.call
    }

    /// Asks for one call.
    package mutating func consume(_ priority: Priority, at now: Duration) -> Verdict {
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

    /// The other side refused: no calls until then.
    package mutating func pause(until instant: Duration) {
        pausedUntil = max(pausedUntil, instant)
    }

    private mutating func fill(at now: Duration) {
        guard now > time else { return }
        let full = callsPerHour * Self.call
        let elapsed = min(now - time, .seconds(Self.hour))
        let (seconds, attoseconds) = elapsed.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        // At most 3.6 · 10¹² · 10⁶ = 3.6 · 10¹⁸, which 64 bits hold.
        level = min(full, level + nanoseconds * callsPerHour / Self.hour)
        time = now
    }
}
