package import Operations
package import AppStoreTypes

/// The time interval of a history request, limited to the time for which Apple keeps notifications: 180 days in
/// production, 30 days in the sandbox.
///
/// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
package struct HistoryInterval: Sendable, Hashable {
    package let start: Timestamp
    package let end: Timestamp
    /// Whether `start` is later than requested, because Apple no longer keeps older notifications.
    package let isClamped: Bool

    /// Safety margin in milliseconds: notifications that Apple may delete before the request arrives.
    private static let margin: Int64 = 60_000

    /// Days for which Apple keeps notifications.
    package static func days(_ environment: AppStoreEnvironment) -> Int64 { environment == .production ? 180 : 30 }

    /// - Parameters:
    ///   - start: `nil` for the oldest available notification.
    ///   - end: `nil` for now. A time in the future also means now.
    /// - Throws: ``InvalidOperation`` if the interval is empty or too old.
    package init(
        start: Timestamp?, end: Timestamp?, in environment: AppStoreEnvironment, now: Timestamp
    ) throws(InvalidOperation) {
        // Apple rejects a start date that is older than it keeps notifications.
        let oldest = now.advanced(byMilliseconds: Self.margin - Self.days(environment) * 86_400_000)
        self.end = min(end ?? now, now)
        if let start, start >= self.end { throw InvalidOperation("--start: must be before the end") }
        guard self.end > oldest else {
            throw InvalidOperation(
                "--end: older than the \(Self.days(environment)) days for which Apple keeps notifications")
        }
        isClamped = start.map { $0 < oldest } ?? false
        self.start = max(start ?? oldest, oldest)
    }
}
