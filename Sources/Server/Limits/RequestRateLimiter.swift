import ReceiptBridgeBase
import ReceiptBridgeCore
import Synchronization

/// A rate limiter with one token bucket per client, which holds the requests of one minute.
///
/// A client that has sent nothing for a minute has a full bucket again, and its bucket is removed. If there are too
/// many clients, buckets are removed early. The limiter keeps a single client from using up the server; it is no
/// defense against many.
final class RequestRateLimiter: Sendable {
    /// Buckets of the current minute and of the previous one. Two generations bound the memory without a timer: every
    /// minute the older generation is dropped.
    private struct State {
        var current: [AddressRange.Address: TokenBucket] = [:]
        /// Buckets of the previous minute. A bucket moves to `current` when its client sends another request.
        var previous: [AddressRange.Address: TokenBucket] = [:]
        var startedAt: Duration = .zero
    }

    private static let minute = Duration.seconds(60)
    /// Maximum number of buckets in `current`.
    private static let capacity = 100_000

    private let state = Mutex(State())

    /// Returns `nil` if the request is allowed; otherwise the time until the next token. No token is consumed then.
    ///
    /// - Parameter perMinute: 1 to 1,000,000. It may differ from the one of the last request.
    func consume(_ client: AddressRange.Address, perMinute: Int64, at now: Duration) -> Duration? {
        let rate = TokenBucket.Rate.perMinute(perMinute)
        return state.withLock { state in
            if now - state.startedAt >= Self.minute || state.current.count >= Self.capacity {
                state.previous = now - state.startedAt >= Self.minute * 2 ? [:] : state.current
                state.current = [:]
                state.startedAt = now
            }
            var bucket = state.current[client] ?? state.previous[client] ?? TokenBucket(rate, at: now)
            defer { state.current[client] = bucket }
            return bucket.consume(rate, at: now)
        }
    }
}
