package import Base
package import Storage

/// What a reconciliation asks about, in this order. A value type without I/O.
///
/// 1. Apple's notification history: what was lost arrives signed, and is received like any notification.
/// 2. Customers that need a lookup, those that were asked for last first.
/// 3. Customers with a subscription that ends within the window, before or after now.
/// 4. Customers with a subscription in billing retry or in a grace period: Apple retries a payment for up to 60 days.
/// 5. Refund histories, because any purchase can be refunded.
/// 6. Customers that need a lookup because of such a refund.
package struct ReconciliationPlan: Sendable, Hashable {
    /// A list of customers to look up.
    package enum Lookups: Sendable, Hashable {
        case ending(ReconciliationInterval)
        case waiting
    }

    /// The time of the notification history.
    package let history: HistoryWindows.Window
    /// The customers to look up before and after the refund histories are read.
    package let lookupsBeforeRefunds, lookupsAfterRefunds: [Lookups]

    /// How long Apple retries a payment, at most.
    private static let billingRetry = Duration.days(60)
    /// Time that is read before the window of the history, because clocks differ.
    private static let clockDifference = Duration.minutes(2)

    /// - Parameter window: time before and after now, in seconds.
    package init(window: Int64, at now: Timestamp) {
        let start = now.advanced(by: .seconds(-window))
        history = HistoryWindows.Window(start: start.advanced(by: .zero - Self.clockDifference), end: now)
        lookupsBeforeRefunds = [
            .waiting,
            .ending(ReconciliationInterval(from: start, to: now.advanced(by: .seconds(window)))),
            .ending(
                ReconciliationInterval(
                    from: start.advanced(by: .zero - Self.billingRetry), to: start, isOnlyUnpaid: true)),
        ]
        lookupsAfterRefunds = [.waiting]
    }
}

/// When a reconciliation begins or continues. A value type without I/O.
package struct ReconciliationSchedule: Sendable, Hashable {
    /// How long after its beginning a reconciliation that stopped early is continued. Later a new one begins.
    private static let lifetime = Duration.days(1)
    /// Pause after failed calls to the App Store.
    package static let pause = Duration.minutes(10)

    /// Time of day in UTC, in seconds.
    package let time: Int64

    package init(time: Int64) { self.time = time }

    /// Returns whether a reconciliation is due: at the time of day, later if no server ran at that time, and at once if
    /// there was none yet.
    package func isDue(after last: ReconciliationRow?, at now: Timestamp) -> Bool {
        guard let last else { return true }
        if Self.continues(last, at: now) { return last.continuesAt.map { $0 <= now } ?? true }
        return last.startedAt.seconds < latest(before: now)
    }

    /// The latest scheduled time that is not after `now`, in seconds since 1970.
    private func latest(before now: Timestamp) -> Int64 {
        let today = now.seconds - now.seconds % 86_400 + time
        return today <= now.seconds ? today : today - 86_400
    }

    /// Returns the reconciliation that begins now, or the last one if it stopped early and asked about the same window.
    package static func row(after last: ReconciliationRow?, window: Int64, at now: Timestamp) -> ReconciliationRow {
        if let last, last.window == window, continues(last, at: now) { return last }
        var row = ReconciliationRow(startedAt: now, window: window)
        row.endedAt = last?.endedAt
        return row
    }

    /// Returns when a reconciliation continues whose calls to the App Store failed.
    package static func continuation(at now: Timestamp) -> Timestamp { now.advanced(by: pause) }

    private static func continues(_ last: ReconciliationRow, at now: Timestamp) -> Bool {
        !last.isFinished && last.startedAt.duration(to: now) < lifetime && last.startedAt <= now
    }
}
