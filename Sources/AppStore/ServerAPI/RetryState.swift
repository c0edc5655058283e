import StoreTypes
import Transport

/// What to do after a failed attempt at one call: a value, without clock or socket.
struct RetryState {
    enum Step: Sendable, Hashable {
        /// At once, with a new token.
        case freshToken
        /// After so long.
        case retry(after: Duration)
        /// The failure stands.
        case giveUp
    }

    /// Not even Apple's own `Retry-After` keeps us waiting longer; a call that may not wait that long gives up.
    static let longestPause = Duration.seconds(3_600)

    private let policy: RetryPolicy
    private let isRepeatable: Bool
    private var failures = 0
    private var hasFreshToken = false

    /// - Parameter isRepeatable: whether doing it twice is the same as doing it once.
    init(policy: RetryPolicy, isRepeatable: Bool) {
        self.policy = policy
        self.isRepeatable = isRepeatable
    }

    mutating func step(
        after failure: ServerAPIError, remaining: Duration, now: Timestamp, random: Double
    ) -> Step {
        if failure.code == .unauthorized {
            guard !hasFreshToken, remaining > .zero else { return .giveUp }
            hasFreshToken = true
            return .freshToken
        }
        // What our own budget refuses was waited for already, and what the transport refuses is so for longer.
        guard failure.code != .budgetSpent, failure.code != .deadline, !failure.isRefusal else { return .giveUp }
        failures += 1
        let wasNotDone = failure.httpStatus == 429
        let decision = policy.decision(
            after: failures, isTemporary: failure.isTemporary && (isRepeatable || wasNotDone), remaining: remaining,
            requested: failure.retryAfter?.delay(nowMilliseconds: now.milliseconds, maximum: Self.longestPause),
            random: random)
        switch decision {
        case .retry(let pause): return .retry(after: pause)
        case .giveUp: return .giveUp
        }
    }
}
