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

/// Splits a time interval into windows, the earliest first. Progress can be saved after each window, because Apple
/// does not promise the order of the records within one. A value type without I/O.
package struct HistoryWindows: Sendable {
    /// A window from `start` to `end`.
    package struct Window: Sendable, Hashable {
        package let start: Timestamp
        package let end: Timestamp

        package init(start: Timestamp, end: Timestamp) {
            self.start = start
            self.end = end
        }
    }

    /// Length in milliseconds below which a window is not halved.
    private static let minimum: Int64 = 60_000

    /// Halves of a longer window, the earliest last.
    private var halves: [Window] = []
    private var rest: Window
    private let length: Int64

    /// - Parameter length: Length of a window in milliseconds.
    package init(from start: Timestamp, to end: Timestamp, length: Int64) {
        rest = Window(start: start, end: end)
        self.length = max(length, Self.minimum)
    }

    /// Whether the next window starts where a full-length window starts, so that no half of a window is pending.
    package var isAtBoundary: Bool { halves.isEmpty }

    /// Returns the next window; `nil` at the end.
    package mutating func next() -> Window? {
        if let window = halves.popLast() { return window }
        guard rest.start < rest.end else { return nil }
        let end = min(rest.start.advanced(byMilliseconds: length), rest.end)
        defer { rest = Window(start: end, end: rest.end) }
        return Window(start: rest.start, end: end)
    }

    /// Replaces the window by its two halves, because its pages could not be read before the pagination token
    /// expired. Returns `false` if the window is too short to be halved.
    package mutating func halve(_ window: Window) -> Bool {
        let length = window.end.milliseconds - window.start.milliseconds
        guard length >= 2 * Self.minimum else { return false }
        let middle = window.start.advanced(byMilliseconds: length / 2)
        halves += [Window(start: middle, end: window.end), Window(start: window.start, end: middle)]
        return true
    }
}
