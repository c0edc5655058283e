/// The limits and delays of retries: exponential backoff with jitter.
///
/// The policy uses no clock and no I/O. Its caller passes the number of attempts and the remaining time.
package struct RetryPolicy: Sendable, Hashable {
    /// The number of attempts, including the first.
    package let maximumAttempts: Int
    /// The delay before the second attempt. Each later delay is twice as long.
    package let baseDelay: Duration
    /// The maximum delay, unless the server requests a longer one.
    package let maximumDelay: Duration

    /// Creates a policy. With one attempt, nothing is retried.
    package init(
        maximumAttempts: Int = 3, baseDelay: Duration = .milliseconds(100), maximumDelay: Duration = .seconds(2)
    ) {
        (self.maximumAttempts, self.baseDelay, self.maximumDelay) = (maximumAttempts, baseDelay, maximumDelay)
    }

    /// Returns the delay before the next attempt; `nil` if no attempt follows, because the failure is not temporary,
    /// the maximum number of attempts has been made, or the delay would end after the deadline.
    ///
    /// For example, after the first attempt the default policy waits 50 to 100 ms, after the second 100 to 200 ms. A
    /// delay that the server requests is never shortened, so it can exceed the deadline. Half of the delay is fixed and
    /// half is random (a number in 0..<1), so that clients that failed together do not retry together.
    package func delay(
        after attempts: Int, isTemporary: Bool = true, remaining: Duration, requested: Duration? = nil, random: Double
    ) -> Duration? {
        guard isTemporary, attempts < maximumAttempts else { return nil }
        let doublings = min(max(attempts - 1, 0), 20)
        let ceiling = min(baseDelay * (1 << doublings), maximumDelay)
        let jittered = ceiling / 2 + ceiling / 2 * min(max(random, 0), 1)
        let pause = max(jittered, requested ?? .zero)
        return pause < remaining ? pause : nil
    }
}

/// The retry budget of one host: retries are limited to a fifth of the first attempts, because more of them would
/// make an outage worse. A token bucket without a clock; the caller passes the time.
package struct RetryBudget: Sendable {
    /// Tokens added for each first attempt. A retry costs one token.
    private static let tokensPerRequest = 0.2
    private static let maximumTokens = 100.0
    /// The minimum for hosts with few requests: the bucket starts with this many tokens and refills to it at one a
    /// second.
    private static let minimumTokens = 10.0

    private var tokens = minimumTokens
    private var lastRefill: ContinuousClock.Instant?

    package init() {}

    /// Records a first attempt, which adds to the budget.
    package mutating func recordFirstAttempt() { tokens = min(tokens + Self.tokensPerRequest, Self.maximumTokens) }

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

/// The value of a `Retry-After` header as sent by the App Store.
///
/// Apple documents UNIX time in milliseconds, RFC 9110 documents seconds from now. These two, and UNIX time in
/// seconds, are distinguished by size: below 10⁹ is a delay in seconds, below 10¹¹ a UNIX time in seconds, above that
/// in milliseconds. A date in words is not parsed, because no service contacted here sends one.
package enum RetryAfter: Sendable, Hashable {
    /// This long from now.
    case delay(Duration)
    /// At this instant, in milliseconds since 1970.
    case instant(milliseconds: Int64)

    /// Returns `nil` unless the text is 1 to 15 digits.
    package init?(_ text: String) {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Int64(text)
        else { return nil }
        switch value {
        case ..<1_000_000_000: self = .delay(.seconds(value))
        case ..<100_000_000_000: self = .instant(milliseconds: value * 1000)
        default: self = .instant(milliseconds: value)
        }
    }

    /// The delay from now on: zero if the instant has passed, and never more than the maximum.
    package func delay(nowMilliseconds now: Int64, maximum: Duration) -> Duration {
        switch self {
        case .delay(let duration): min(duration, maximum)
        case .instant(let milliseconds): min(.milliseconds(max(milliseconds - now, 0)), maximum)
        }
    }
}
