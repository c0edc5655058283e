/// How many repeated questions a host gets: a fifth of the first ones, so that its trouble is not made worse by ours. A
/// value, which is told the time.
package struct RetryBudget: Sendable {
    /// Repetitions for each first question.
    private static let share = 0.2
    /// What may be saved up.
    private static let capacity = 100.0
    /// Where there are few questions: so many at the start, and one more a second up to there.
    private static let least = 10.0

    private var saved = least
    private var filled: ContinuousClock.Instant?

    package init() {}

    /// A first question is asked.
    package mutating func asked() {
        saved = min(saved + Self.share, Self.capacity)
    }

    /// Whether one may be repeated; it counts already.
    package mutating func consume(at now: ContinuousClock.Instant) -> Bool {
        if saved < Self.least, let filled, now > filled {
            saved = min(saved + filled.duration(to: now) / .seconds(1), Self.least)
        }
        filled = now
        guard saved >= 1 else { return false }
        saved -= 1
        return true
    }
}
