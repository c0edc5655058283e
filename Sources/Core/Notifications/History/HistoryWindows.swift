package import ReceiptBridgeBase

/// Splits a time interval into windows, the earliest first. A value type without I/O.
package struct HistoryWindows: Sendable {
    package struct Window: Sendable, Hashable {
        package let start: Timestamp
        package let end: Timestamp

        package init(start: Timestamp, end: Timestamp) { (self.start, self.end) = (start, end) }
    }

    /// Length below which a window is not halved.
    private static let minimum = Duration.minutes(1)

    /// Halves of a longer window, the earliest last.
    private var halves: [Window] = []
    private var rest: Window
    private let length: Duration

    package init(from start: Timestamp, to end: Timestamp, length: Duration) {
        rest = Window(start: start, end: end)
        self.length = max(length, Self.minimum)
    }

    /// Whether the next window starts where a full-length window starts, so that no half of a window is pending.
    var isAtBoundary: Bool { halves.isEmpty }

    package mutating func next() -> Window? {
        if let window = halves.popLast() { return window }
        guard rest.start < rest.end else { return nil }
        let end = min(rest.start.advanced(by: length), rest.end)
        defer { rest = Window(start: end, end: rest.end) }
        return Window(start: rest.start, end: end)
    }

    /// Replaces the window by its two halves, because its pages could not be read before the pagination token
    /// expired. Returns `false` if the window is too short to be halved.
    package mutating func halve(_ window: Window) -> Bool {
        let length = window.start.duration(to: window.end)
        guard length >= Self.minimum * 2 else { return false }
        let middle = window.start.advanced(by: length / 2)
        halves += [Window(start: middle, end: window.end), Window(start: window.start, end: middle)]
        return true
    }
}

extension HistoryWindows {
    /// The age of notifications that Apple may delete before the request arrives is this much below the limit.
    private static let deletionMargin = Duration.minutes(1)

    /// Days for which Apple keeps notifications.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
    package static func days(_ environment: AppStoreEnvironment) -> Int64 { environment == .production ? 180 : 30 }

    package static func oldest(in environment: AppStoreEnvironment, at now: Timestamp) -> Timestamp {
        now.advanced(by: deletionMargin - .days(days(environment)))
    }
}
