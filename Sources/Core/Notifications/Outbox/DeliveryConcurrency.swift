/// The number of deliveries to one target that may be in flight: an adaptive limit in the manner of TCP.
///
/// It has no clock. Callers report each post with its latency. As many successful posts as the limit are a round. After
/// a round the limit grows if it was used up and the posts were quick; the increase doubles with each such round.
/// "Quick" is no absolute time: the mean latency of the round is at most twice the smallest mean of a round, so a
/// target that always takes a second is quick, and one whose latency only grows with the number of posts is not. A
/// failure halves the limit, and the limit that failed is not reached again before a number of rounds without failure.
package struct DeliveryConcurrency: Sendable, Hashable {
    /// The limit at the start, and the smallest one, unless the maximum is smaller.
    package static let start = 4
    /// Rounds in a row without growth after which a larger limit is tried, or the latency is measured again with few
    /// posts in flight.
    package static let patience = 32

    /// The upper bound of the limit, at least 1.
    package let maximum: Int
    package private(set) var limit: Int
    /// Number of times that the limit was reduced because of a failure. Callers remember it at the begin of a post.
    package private(set) var reductions = 0

    private var step: Int
    /// The limit that failed last; `nil` if none did, or if that limit is being tried again.
    private var failedLimit: Int?
    /// The smallest mean latency of a round.
    private var smallestMean: Duration?
    /// Rounds in a row that used up the limit and were followed by no growth.
    private var roundsWithoutGrowth = 0

    private var posts = 0
    private var totalLatency = Duration.zero
    private var isUsedUp = false

    package init(maximum: Int) {
        self.maximum = max(maximum, 1)
        limit = min(Self.start, self.maximum)
        step = limit
    }

    /// Records a post that the target accepted.
    ///
    /// - Parameters:
    ///   - latency: from the begin of the request to the end of the response.
    ///   - inFlight: number of deliveries in flight at the end of the post, this one included.
    package mutating func recordSuccess(after latency: Duration, inFlight: Int) {
        posts += 1
        totalLatency += latency
        isUsedUp = isUsedUp || inFlight >= limit
        guard posts >= limit else { return }
        let (mean, canGrow) = (totalLatency / posts, isUsedUp && limit < maximum)
        beginRound()
        smallestMean = min(smallestMean ?? mean, mean)
        if canGrow { endRound(isQuick: mean <= (smallestMean ?? mean) * 2) }
    }

    /// Records a post that failed or timed out. Only the first failure since the last reduction counts, because the
    /// others were begun with the larger limit.
    package mutating func recordFailure(begunAfter reductions: Int) {
        guard reductions == self.reductions else { return }
        self.reductions += 1
        failedLimit = limit
        limit = max(limit / 2, min(Self.start, maximum))
        step = 1
        roundsWithoutGrowth = 0
        beginRound()
    }

    private mutating func beginRound() { (posts, totalLatency, isUsedUp) = (0, .zero, false) }

    private mutating func endRound(isQuick: Bool) {
        let bound = min(maximum, failedLimit.map { $0 - 1 } ?? maximum)
        if isQuick, limit < bound {
            limit = min(limit + step, bound)
            step *= 2
            roundsWithoutGrowth = 0
            return
        }
        roundsWithoutGrowth += 1
        guard roundsWithoutGrowth >= Self.patience else { return }
        roundsWithoutGrowth = 0
        if isQuick {
            failedLimit = nil
            limit += 1
            step = 1
        } else {
            // The target may stay slower, so the smallest mean is measured again.
            smallestMean = nil
            limit = min(Self.start, maximum)
            step = limit
        }
    }
}
