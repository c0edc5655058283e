package import StoreTypes

/// When a delivery that failed is tried again, and when it is given up.
///
/// Knows no clock: it is told how often it failed, since when it has been queued, and what time it is.
package struct DeliverySchedule: Sendable, Hashable {
    /// Milliseconds between the first failure and the second attempt, and so on; the last is for all further ones.
    package var pauses: [Int64]
    /// Milliseconds since it was queued, behind which nothing is tried any more.
    package var timeout: Int64
    /// However the clock runs.
    package var maximumAttempts: Int

    /// 10 s, 1 min, 5 min, 30 min, 2 h, 6 h, then every 12 h, for three days.
    package init(
        pauses: [Int64] = [10, 60, 300, 1_800, 7_200, 21_600, 43_200].map { $0 * 1_000 },
        timeout: Int64 = 3 * 86_400_000, maximumAttempts: Int = 20
    ) {
        self.pauses = pauses
        self.timeout = timeout
        self.maximumAttempts = maximumAttempts
    }

    /// The time of the next attempt; nil to give up.
    package func next(afterFailures failures: Int, queuedAt: Timestamp, now: Timestamp) -> Timestamp? {
        guard failures < maximumAttempts, let last = pauses.last else { return nil }
        let place = max(failures - 1, 0)
        let next = now.advanced(byMilliseconds: pauses.indices.contains(place) ? pauses[place] : last)
        return next.milliseconds - queuedAt.milliseconds <= timeout ? next : nil
    }
}
