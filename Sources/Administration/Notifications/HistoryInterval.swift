package import ReceiptBridgeBase
package import ReceiptBridgeCore

/// The time interval of a history request, limited to the time for which Apple keeps notifications: 180 days in
/// production, 30 days in the sandbox.
package struct HistoryInterval: Sendable, Hashable {
    package let start: Timestamp
    package let end: Timestamp
    /// Whether `start` is later than requested, because Apple no longer keeps older notifications.
    package let isClamped: Bool

    /// - Parameters:
    ///   - start: `nil` for the oldest available notification.
    ///   - end: `nil` for now. A time in the future also means now.
    /// - Throws: ``InvalidOperation`` if the interval is empty or too old.
    package init(
        start: Timestamp?, end: Timestamp?, in environment: AppStoreEnvironment, now: Timestamp
    ) throws(InvalidOperation) {
        let oldest = HistoryWindows.oldest(in: environment, at: now)
        self.end = min(end ?? now, now)
        if let start, start >= self.end { throw InvalidOperation("--start: must be before the end") }
        guard self.end > oldest else {
            throw InvalidOperation(
                "--end: older than the \(HistoryWindows.days(environment)) days for which Apple keeps notifications")
        }
        isClamped = start.map { $0 < oldest } ?? false
        self.start = max(start ?? oldest, oldest)
    }
}
