/// The retry budget of one host: retries are limited to a fifth of the first attempts, because more of them would
/// make an outage worse. A token bucket without a clock; the caller passes the time.
package struct RetryBudget: Sendable {
    /// Tokens added for each first attempt. A retry costs one token.
    private static let tokensPerRequest = 0.2
    /// The maximum number of tokens.
    private static let maximumTokens = 100.0
    /// The minimum for hosts with few requests: the bucket starts with this many tokens and refills to it at one a
    /// second.
    private static let minimumTokens = 10.0

    private var tokens = minimumTokens
    private var lastRefill: ContinuousClock.Instant?

    package init() {}

    /// Records a first attempt, which adds to the budget.
    package mutating func recordFirstAttempt() {
        tokens = min(tokens + Self.tokensPerRequest, Self.maximumTokens)
    }

    /// Takes a token and returns true, or returns false if the retry is not allowed.
    package mutating func consume(at now: ContinuousClock.Instant) -> Bool {
        if tokens < Self.minimumTokens, let lastRefill, now > lastRefill {
            tokens = min(tokens + lastRefill.duration(to: now) / .seconds(1), Self.minimumTokens)
        }
        lastRefill = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
