import Pipeline
import Synchronization

/// How many requests each client has left: a bucket of one minute's requests that starts full and fills evenly.
///
/// Who sent nothing for a minute has a full bucket again, and is forgotten. Too many clients at once are forgotten early:
/// this keeps one of them from taking everything; it is no defence against a crowd.
final class RequestRateLimiter: Sendable {
    private struct Bucket {
        /// Billionths of a request.
        var level: Int64
        var time: Duration
    }

    private struct State {
        var current: [AddressRange.Address: Bucket] = [:]
        /// Of the minute before; moved when its client comes again.
        var previous: [AddressRange.Address: Bucket] = [:]
        var begunAt: Duration = .zero
    }

    private static let request: Int64 = 1_000_000_000
    private static let minute = Duration.seconds(60)
    /// Clients of a minute.
    private static let capacity = 100_000

    private let state = Mutex(State())

    /// Takes one request from a client's bucket; how long to wait where there is none, nothing being taken then.
    ///
    /// - Parameter perMinute: 1 to 1,000,000.
    func consume(_ client: AddressRange.Address, perMinute: Int64, at now: Duration) -> Duration? {
        state.withLock { state in
            if now - state.begunAt >= Self.minute || state.current.count >= Self.capacity {
                state.previous = now - state.begunAt >= Self.minute * 2 ? [:] : state.current
                state.current = [:]
                state.begunAt = now
            }
            let full = perMinute * Self.request
            var bucket = state.current[client] ?? state.previous[client] ?? Bucket(level: full, time: now)
            let elapsed = min(max(now - bucket.time, .zero), Self.minute)
            let (seconds, attoseconds) = elapsed.components
            let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
            // At most 6 · 10¹⁰ · 10⁶ = 6 · 10¹⁶.
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
