import ReceiptBridgeBase

/// The retry schedule of a delivery: when a failed delivery is retried, and after how long it is given up.
///
/// It has no clock; callers pass the number of failures and the time since the delivery was queued.
package struct DeliverySchedule: Sendable, Hashable {
    /// Pauses after the first failure, the second failure, and so on. The last pause applies to all further failures.
    package var pauses: [Duration]
    /// Time after queuing. No retry is scheduled later than that.
    package var timeout: Duration
    /// Maximum number of attempts. It bounds them even if the clock is set back.
    package var maximumAttempts: Int

    /// By default the pauses are 10 s, 1 min, 5 min, 30 min, 2 h, 6 h, then 12 h each, for at most three days.
    package init(
        pauses: [Duration] = [.seconds(10), .minutes(1), .minutes(5), .minutes(30), .hours(2), .hours(6), .hours(12)],
        timeout: Duration = .days(3), maximumAttempts: Int = 20
    ) {
        (self.pauses, self.timeout, self.maximumAttempts) = (pauses, timeout, maximumAttempts)
    }

    /// Returns the pause before the next attempt; `nil` if the delivery is given up.
    package func pause(afterFailures failures: Int, age: Duration) -> Duration? {
        guard failures < maximumAttempts, let last = pauses.last else { return nil }
        let index = max(failures - 1, 0)
        let pause = pauses.indices.contains(index) ? pauses[index] : last
        return age + pause <= timeout ? pause : nil
    }
}
