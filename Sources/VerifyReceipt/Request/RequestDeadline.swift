/// The deadline of one request, and how much of the time each source that makes calls may use.
///
/// A client of verifyReceipt gives up after 3 to 10 seconds, and a response that comes later is useless. Everything
/// counts towards the deadline: retries, pauses, waiting for a rate limit, and waiting for a lookup that another
/// request started.
package struct RequestDeadline: Sendable {
    /// Reserved for the sources that make no calls, and for writing the response.
    private static let maximumReserve = Duration.milliseconds(500)

    private let end: ContinuousClock.Instant
    private let reserve: Duration

    /// Starts a deadline.
    ///
    /// - Parameters:
    ///   - limit: the time from `now` to the response. A tenth of it, at most 500 ms, is reserved for sources that make
    ///     no calls.
    ///   - now: when the request was received.
    package init(_ limit: Duration, from now: ContinuousClock.Instant = .now) {
        reserve = min(limit / 10, Self.maximumReserve)
        end = now + limit - reserve
    }

    /// The time that the next source may use. For example, with 8 s left and one more source after it, a source may use
    /// 4 s.
    ///
    /// - Parameter others: the number of sources after it that make calls. Each gets an equal share of the remaining
    ///   time.
    package func share(before others: Int, at now: ContinuousClock.Instant = .now) -> Duration {
        let rest = max(now.duration(to: end), .zero)
        return others == 0 ? rest : rest / (others + 1)
    }

    /// The time that a read of the store may take. The store may be slow, because a disk can hang. Two such reads fit
    /// into the reserve.
    ///
    /// - Parameter others: the number of sources after it that make calls.
    package func reading(before others: Int, at now: ContinuousClock.Instant = .now) -> Duration {
        max(share(before: others, at: now), reserve / 3)
    }
}
