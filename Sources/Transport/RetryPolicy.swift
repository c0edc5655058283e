/// How often, and with what pauses, something that failed is tried again.
///
/// Knows no clock and no socket: it is told how many attempts there were and how much time is left.
package struct RetryPolicy: Sendable, Hashable {
    /// All attempts, the first one included.
    package let maximumAttempts: Int
    /// The pause before the second attempt; each later one is twice as long.
    package let baseDelay: Duration
    /// No pause of our own is longer.
    package let maximumDelay: Duration

    /// A policy; a single attempt means that nothing is retried.
    package init(
        maximumAttempts: Int = 3, baseDelay: Duration = .milliseconds(100), maximumDelay: Duration = .seconds(2)
    ) {
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
    }

    /// What to do after a failed attempt.
    package enum Decision: Sendable, Hashable {
        /// Wait so long, then try again.
        case retry(after: Duration)
        /// Hand the failure on.
        case giveUp(Cause)
    }

    /// Why there is no further attempt.
    package enum Cause: Sendable, Hashable {
        /// The failure is one that will not pass.
        case permanent
        /// As many attempts were made as may be made.
        case attemptsUsed
        /// The pause would end after the deadline.
        case deadline
    }

    /// Decides after the given number of failed attempts.
    ///
    /// - Parameters:
    ///   - isTemporary: whether the failure may pass.
    ///   - remaining: the time to the deadline.
    ///   - requested: a pause that the other side asked for; never shortened, so it can exceed the deadline.
    ///   - random: in 0..<1. Half of the pause is fixed and half of it random, so that clients that failed together
    ///     do not come back together.
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
