import ReceiptBridgeBase

/// A token bucket that holds the calls of one hour, with priorities and pauses.
///
/// It uses no clock; the caller passes a monotonic time with any start.
package struct HourlyBudget: Sendable, Hashable {
    package enum Priority: Sendable, Hashable {
        /// A client is waiting for the response.
        case live
        /// A migration or a comparison. It leaves the reserve to live calls.
        case batch
        /// An additional call about something already answered, for example for a shadow comparison. It may use a
        /// small share of the bucket, and not the reserve.
        case background
    }

    package enum BudgetDecision: Sendable, Hashable {
        /// The call is allowed and already counted.
        case granted
        /// The call is possible after this duration. Nothing was counted.
        case wait(Duration)
    }

    private var rate: TokenBucket.Rate
    private let reserve: Double
    private var bucket: TokenBucket
    private var pausedUntil: Duration = .zero

    /// The size of the bucket: the number of calls per hour. A change keeps the calls in the bucket that fit into it.
    package var callsPerHour: Int64 {
        get { rate.tokens }
        set { if newValue != rate.tokens { rate = .perHour(newValue) } }
    }

    private var reserved: Int64 { Int64(Double(rate.tokens) * reserve) }

    /// The bucket begins full. `callsPerHour` is clamped to 1 to 1,000,000. The share `reserve`, 0...1, is reserved for
    /// live calls.
    package init(callsPerHour: Int64, reserve: Double, now: Duration) {
        rate = .perHour(callsPerHour)
        bucket = TokenBucket(rate, at: now)
        self.reserve = reserve.isFinite ? min(max(reserve, 0), 1) : 0
    }

    /// The number of whole calls left for a priority.
    package mutating func left(for priority: Priority, at now: Duration) -> Int64 {
        bucket.tokens(rate, reserved: priority == .live ? 0 : reserved, at: now)
    }

    package mutating func consume(_ priority: Priority, at now: Duration) -> BudgetDecision {
        if now < pausedUntil { return .wait(pausedUntil - now) }
        let wait = bucket.consume(rate, reserved: priority == .live ? 0 : reserved, at: now)
        return wait.map { .wait($0) } ?? .granted
    }

    /// Returns how long the bucket is still blocked by ``pause(until:)``; `nil` if it is not.
    func pauseLeft(at now: Duration) -> Duration? { now < pausedUntil ? pausedUntil - now : nil }

    /// Blocks all calls until the given time, because Apple returned 429 with `Retry-After`.
    package mutating func pause(until instant: Duration) { pausedUntil = max(pausedUntil, instant) }
}
