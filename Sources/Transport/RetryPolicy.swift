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
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
    }

    /// The next step after a failed attempt.
    package enum Decision: Sendable, Hashable {
        /// Wait for this duration, then retry.
        case retry(after: Duration)
        /// Return the failure to the caller.
        case giveUp(Cause)
    }

    /// The reason why there is no further attempt.
    package enum Cause: Sendable, Hashable {
        /// The failure is not temporary.
        case permanent
        /// The maximum number of attempts has been made.
        case attemptsUsed
        /// The delay would end after the deadline.
        case deadline
    }

    /// Decides what to do after the given number of failed attempts.
    ///
    /// For example, after the first attempt the default policy waits 50 to 100 ms, after the second 100 to 200 ms.
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts made so far.
    ///   - isTemporary: Whether the failure may pass.
    ///   - remaining: The time until the deadline.
    ///   - requested: A delay requested by the server. It is never shortened, so it can exceed the deadline.
    ///   - random: A number in 0..<1. Half of the delay is fixed and half is random, so that clients that failed together
    ///     do not retry together.
    package func decision(
        after attempts: Int, isTemporary: Bool = true, remaining: Duration, requested: Duration? = nil, random: Double
    ) -> Decision {
        guard isTemporary else { return .giveUp(.permanent) }
        guard attempts < maximumAttempts else { return .giveUp(.attemptsUsed) }
        let doublings = min(max(attempts - 1, 0), 20)
        let ceiling = min(baseDelay * (1 << doublings), maximumDelay)
        let jittered = ceiling / 2 + ceiling / 2 * min(max(random, 0), 1)
        let pause = max(jittered, requested ?? .zero)
        return pause < remaining ? .retry(after: pause) : .giveUp(.deadline)
    }
}
