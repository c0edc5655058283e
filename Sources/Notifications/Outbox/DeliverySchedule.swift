package import Base

/// The retry schedule of a delivery: when a failed delivery is retried, and after how long it has failed for good.
///
/// It has no clock; callers pass the number of failures, the time of queuing and the current time.
package struct DeliverySchedule: Sendable, Hashable {
    /// Pauses in milliseconds after the first failure, the second failure, and so on. The last pause applies to all
    /// further failures.
    package var pauses: [Int64]
    /// Milliseconds after queuing. No retry is scheduled later than that.
    package var timeout: Int64
    /// Maximum number of attempts. It bounds them even if the clock is set back.
    package var maximumAttempts: Int

    /// Creates a schedule. By default the pauses are 10 s, 1 min, 5 min, 30 min, 2 h, 6 h, then 12 h each, and a
    /// delivery is given up after three days.
    package init(
        pauses: [Int64] = [10, 60, 300, 1_800, 7_200, 21_600, 43_200].map { $0 * 1_000 },
        timeout: Int64 = 3 * 86_400_000, maximumAttempts: Int = 20
    ) {
        self.pauses = pauses
        self.timeout = timeout
        self.maximumAttempts = maximumAttempts
    }

    /// Returns the time of the next attempt; `nil` if the delivery is given up.
    package func next(afterFailures failures: Int, queuedAt: Timestamp, now: Timestamp) -> Timestamp? {
        guard failures < maximumAttempts, let last = pauses.last else { return nil }
        let index = max(failures - 1, 0)
        let next = now.advanced(byMilliseconds: pauses.indices.contains(index) ? pauses[index] : last)
        return next.milliseconds - queuedAt.milliseconds <= timeout ? next : nil
    }
}
