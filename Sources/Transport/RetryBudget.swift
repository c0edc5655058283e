/// The retry budget of one host: retries are limited to a fifth of the first attempts, because more of them would
/// make an outage worse. A token bucket without a clock; the caller passes the time.
package struct RetryBudget: Sendable {
    /// Tokens added for each first attempt. A retry costs one token.
    private static let share = 0.2
    /// The maximum number of tokens.
    private static let capacity = 100.0
    /// The minimum for hosts with few requests: the bucket starts with this many tokens and refills to it at one a
    /// second.
    private static let least = 10.0

    private var saved = least
    private var filled: ContinuousClock.Instant?

    package init() {}

    /// Records a first attempt, which adds to the budget.
    package mutating func asked() {
        saved = min(saved + Self.share, Self.capacity)
    }

    /// Takes a token and returns true, or returns false if the retry is not allowed.
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
