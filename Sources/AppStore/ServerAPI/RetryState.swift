import ReceiptBridgeBase
import ReceiptBridgeTransport

/// Decides about retries of one call. A value type without a clock or I/O.
struct RetryState {
    enum Step: Sendable, Hashable {
        case freshToken
        case retry(after: Duration)
        case giveUp
    }

    private let policy: RetryPolicy
    private let isRepeatable: Bool
    private var failures = 0
    private var hasFreshToken = false

    init(policy: RetryPolicy, isRepeatable: Bool) {
        self.policy = policy
        self.isRepeatable = isRepeatable
    }

    mutating func step(after failure: UpstreamError, remaining: Duration, random: Double) -> Step {
        if failure.code == .unauthorized {
            guard !hasFreshToken, remaining > .zero else { return .giveUp }
            hasFreshToken = true
            return .freshToken
        }
        // The hourly budget has already waited as long as possible, and a rejection by the transport lasts longer
        // than a retry.
        guard failure.code != .budgetSpent, failure.code != .deadline, !failure.isRefusal else { return .giveUp }
        failures += 1
        let wasNotDone = failure.httpStatus == 429
        let delay = policy.delay(
            after: failures, isTemporary: failure.isTemporary && (isRepeatable || wasNotDone), remaining: remaining,
            requested: failure.retryAfter, random: random)
        return delay.map { .retry(after: $0) } ?? .giveUp
    }
}
