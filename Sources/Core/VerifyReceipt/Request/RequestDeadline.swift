/// The deadline of one request, and how much of the time each source that makes calls may use.
///
/// A client of verifyReceipt gives up after 3 to 10 seconds, and a response that comes later is useless. Everything
/// counts towards the deadline: retries, pauses, waiting for a rate limit, and waiting for a lookup that another
/// request started.
package struct RequestDeadline: Sendable {
    /// The time of every request. A tenth of it, at most 500 ms, is reserved for the sources that make no calls and for
    /// writing the response.
    package struct Limit: Sendable {
        package let whole: Duration
        /// The time from the request to the start of the reserve.
        fileprivate let usable: Duration
        /// The time that a read of the store may take in any case.
        fileprivate let shortestReading: Duration

        /// - Parameters:
        ///   - whole: from a request to its response.
        ///   - shortestReading: `nil` for a third of the reserve.
        package init(_ whole: Duration, shortestReading: Duration? = nil) {
            self.whole = whole
            let reserve = min(whole / 10, .milliseconds(500))
            usable = whole - reserve
            self.shortestReading = shortestReading ?? reserve / 3
        }
    }

    private let end: ContinuousClock.Instant
    private let limit: Limit

    /// - Parameter now: when the request was received.
    package init(_ limit: Limit, from now: ContinuousClock.Instant = .now) {
        self.limit = limit
        end = now + limit.usable
    }

    /// The time that the next source may use. For example, with 8 s left and one more source after it, a source may use
    /// 4 s.
    ///
    /// - Parameter others: the number of sources after it that make calls. Each gets an equal share.
    package func share(before others: Int, at now: ContinuousClock.Instant = .now) -> Duration {
        let rest = max(now.duration(to: end), .zero)
        return others == 0 ? rest : rest / (others + 1)
    }

    /// The time that a read of the store may take. The store may be slow, because a disk can hang. Two such reads fit
    /// into the reserve.
    package func reading(before others: Int, at now: ContinuousClock.Instant = .now) -> Duration {
        max(share(before: others, at: now), limit.shortestReading)
    }
}
