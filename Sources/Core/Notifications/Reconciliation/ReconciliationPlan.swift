package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// What a reconciliation asks about, in this order. A value type without I/O.
///
/// 1. Apple's notification history: what was lost arrives signed, and is received like any notification.
/// 2. Customers with a subscription that ends within the window, before or after now.
/// 3. Customers with a subscription in billing retry or in a grace period: Apple retries a payment for up to 60 days.
/// 4. Refund histories, because any purchase can be refunded.
///
/// Customers that need a lookup are looked up beside it, see ``Reconciliation/lookUpWaiting()``.
package struct ReconciliationPlan: Sendable, Hashable {
    package let ending: [ReconciliationInterval]
    private let history: HistoryWindows.Window

    /// How long Apple retries a payment, at most.
    private static let billingRetry = Duration.days(60)
    /// Time that is read before the window of the history, because clocks differ.
    private static let clockDifference = Duration.minutes(2)
    /// Limits of the windows in which the history is read. After each of them its end is stored, so a reconciliation
    /// that continues reads at most one of them again. A pagination token would save that, but it expires.
    private static let (windows, shortestWindow) = (48, Duration.minutes(15))

    /// - Parameter window: time before and after now, in seconds.
    package init(window: Int64, at now: Timestamp) {
        let start = now.advanced(by: .seconds(-window))
        history = HistoryWindows.Window(start: start, end: now)
        ending = [
            ReconciliationInterval(from: start, to: now.advanced(by: .seconds(window))),
            ReconciliationInterval(from: start.advanced(by: .zero - Self.billingRetry), to: start, isOnlyUnpaid: true),
        ]
    }

    /// - Parameter position: until when this reconciliation has read it.
    package func history(in environment: AppStoreEnvironment, readUntil position: Timestamp?) -> HistoryWindows {
        let start = max(history.start, position ?? history.start).advanced(by: .zero - Self.clockDifference)
        return HistoryWindows(
            from: max(start, HistoryWindows.oldest(in: environment, at: history.end)), to: history.end,
            length: max(history.start.duration(to: history.end) / Self.windows, Self.shortestWindow))
    }
}

/// When a reconciliation begins or continues. A value type without I/O.
package struct ReconciliationSchedule: Sendable, Hashable {
    /// How long after its beginning a reconciliation that stopped early is continued. Later a new one begins.
    private static let lifetime = Duration.days(1)

    /// Time of day in UTC, in seconds.
    package let time: Int64

    package init(time: Int64) { self.time = time }

    /// At the time of day, later if no server ran at that time, and at once if there was no reconciliation yet.
    package func isDue(after last: ReconciliationRow?, at now: Timestamp) -> Bool {
        guard let last else { return true }
        if Self.continues(last, at: now) { return last.continuesAt.map { $0 <= now } ?? true }
        return last.startedAt.seconds < latest(before: now)
    }

    /// The latest scheduled time that is not after `now`, in seconds since 1970.
    private func latest(before now: Timestamp) -> Int64 {
        let today = now.seconds - now.seconds % Seconds.day + time
        return today <= now.seconds ? today : today - Seconds.day
    }

    /// Returns the reconciliation that begins now, or the last one if it stopped early and asked about the same window.
    package static func row(after last: ReconciliationRow?, window: Int64, at now: Timestamp) -> ReconciliationRow {
        if let last, last.window == window, continues(last, at: now) { return last }
        var row = ReconciliationRow(startedAt: now, window: window)
        row.endedAt = last?.endedAt
        return row
    }

    private static func continues(_ last: ReconciliationRow, at now: Timestamp) -> Bool {
        !last.isFinished && last.startedAt.duration(to: now) < lifetime && last.startedAt <= now
    }
}
