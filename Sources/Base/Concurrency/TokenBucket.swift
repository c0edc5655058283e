/// A token bucket: a rate limit that allows bursts. It starts full and refills evenly.
///
/// It uses no clock; the caller passes a monotonic time with any start. It is exact because it counts in billionths
/// of a token. Its rate is not stored in it, because there may be many buckets with one rate, which may change.
///
/// For example, a bucket with a rate of 60 tokens a minute allows 60 events at once, then one per second.
package struct TokenBucket: Sendable, Hashable {
    /// The size of a bucket, and the time in which an empty one becomes full.
    package struct Rate: Sendable, Hashable {
        package let tokens: Int64
        fileprivate let seconds: Int64

        private init(_ tokens: Int64, seconds: Int64) {
            self.tokens = min(max(tokens, 1), 1_000_000)
            self.seconds = seconds
        }

        /// - Parameter tokens: 1 to 1,000,000; other values are clamped to that range.
        package static func perMinute(_ tokens: Int64) -> Rate { Rate(tokens, seconds: 60) }

        package static func perHour(_ tokens: Int64) -> Rate { Rate(tokens, seconds: 3_600) }
    }

    private static let token: Int64 = 1_000_000_000

    /// In billionths of a token.
    private var level: Int64
    private var time: Duration

    /// The bucket begins full.
    package init(_ rate: Rate, at now: Duration) {
        level = rate.tokens * Self.token
        time = now
    }

    /// The number of whole tokens in the bucket, apart from the reserved ones.
    package mutating func tokens(_ rate: Rate, reserved: Int64 = 0, at now: Duration) -> Int64 {
        refill(rate, at: now)
        return max(level - reserved * Self.token, 0) / Self.token
    }

    /// Takes one token if more than the reserved ones are left; otherwise returns the time until there is one.
    package mutating func consume(_ rate: Rate, reserved: Int64 = 0, at now: Duration) -> Duration? {
        refill(rate, at: now)
        let missing = Self.token * (1 + reserved) - level
        guard missing > 0 else {
            level -= Self.token
            return nil
        }
        // Rounded up, so that the wait is long enough.
        return .nanoseconds((missing * rate.seconds + rate.tokens - 1) / rate.tokens)
    }

    /// Adds the tokens for the time since the last refill. A clock that goes back adds nothing.
    private mutating func refill(_ rate: Rate, at now: Duration) {
        let elapsed = min(max(now - time, .zero), .seconds(rate.seconds))
        let (seconds, attoseconds) = elapsed.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        // At most 3.6 · 10¹² · 10⁶ = 3.6 · 10¹⁸, which fits into 64 bits.
        level = min(rate.tokens * Self.token, level + nanoseconds * rate.tokens / rate.seconds)
        time = max(time, now)
    }
}

/// How long calls to the App Store Server API wait for a rate limit.
package struct RateLimitWait: Sendable, Hashable {
    /// Time until the first waiting call resumes.
    package let left: Duration
    /// `true` if Apple returned 429 and named the time, `false` for our own share of the hourly limits.
    package let isNamedByApple: Bool

    package init(left: Duration, isNamedByApple: Bool) {
        self.left = left
        self.isNamedByApple = isNamedByApple
    }
}
