import Pipeline
import Synchronization

/// A rate limiter with one token bucket per client. A bucket starts full with the requests of one minute and refills
/// evenly.
///
/// A client that has sent nothing for a minute has a full bucket again, and its bucket is removed. If there are too
/// many clients, buckets are removed early. The limiter keeps a single client from using up the server; it is no
/// defense against many.
///
/// For example, with a limit of 60 per minute a client may send 60 requests at once, then one per second.
final class RequestRateLimiter: Sendable {
    /// A token bucket.
    private struct Bucket {
        /// Tokens left, in billionths of a request.
        var level: Int64
        /// Time of the last refill.
        var time: Duration
    }

    /// Buckets of the current minute and of the previous one. Two generations bound the memory without a timer: every
    /// minute the older generation is dropped.
    private struct State {
        var current: [AddressRange.Address: Bucket] = [:]
        /// Buckets of the previous minute. A bucket moves to `current` when its client sends another request.
        var previous: [AddressRange.Address: Bucket] = [:]
        var startedAt: Duration = .zero
    }

    /// One request in the unit of the buckets.
    private static let request: Int64 = 1_000_000_000
    private static let minute = Duration.seconds(60)
    /// Maximum number of buckets in `current`.
    private static let capacity = 100_000

    private let state = Mutex(State())

    /// Consumes one request from the client's bucket.
    ///
    /// - Parameter perMinute: The limit, 1 to 1,000,000.
    /// - Returns: `nil` if the request is allowed; otherwise the time until the next token. No token is consumed
    ///   then.
    func consume(_ client: AddressRange.Address, perMinute: Int64, at now: Duration) -> Duration? {
        state.withLock { state in
            if now - state.startedAt >= Self.minute || state.current.count >= Self.capacity {
                state.previous = now - state.startedAt >= Self.minute * 2 ? [:] : state.current
                state.current = [:]
                state.startedAt = now
            }
            // The limit may have changed since the last request, so the size of the bucket is not stored in it.
            let full = perMinute * Self.request
            var bucket = state.current[client] ?? state.previous[client] ?? Bucket(level: full, time: now)
            let elapsed = min(max(now - bucket.time, .zero), Self.minute)
            let (seconds, attoseconds) = elapsed.components
            let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
            // No overflow: the product is at most 6 · 10¹⁰ ns · 10⁶ = 6 · 10¹⁶.
            bucket.level = min(full, bucket.level + nanoseconds * perMinute / 60)
            bucket.time = now
            defer { state.current[client] = bucket }
            guard bucket.level >= Self.request else {
                return .nanoseconds((Self.request - bucket.level) * 60 / perMinute + 1)
            }
            bucket.level -= Self.request
            return nil
        }
    }
}
