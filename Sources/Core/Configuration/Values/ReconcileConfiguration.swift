import ReceiptBridgeBase

/// The daily reconciliation with the App Store, the key `reconcile`.
package struct ReconcileConfiguration: Sendable, Hashable {
    /// Subscriptions that end within this many seconds before or after now are checked.
    package var window = standardWindow
    /// Time of day in UTC, in seconds.
    package var time = 4 * Seconds.hour

    package static let standardWindow = 3 * Seconds.day
    /// An hour to 30 days, in seconds.
    package static let windows: ClosedRange<Int64> = Seconds.hour...30 * Seconds.day
    package static let windowForm = "1h to 720h or 1d to 30d"

    /// Reads a window, for example `3d` or `12h`. Returns the seconds; `nil` if it is not in ``windowForm``.
    package static func window(_ text: some StringProtocol) -> Int64? {
        let units: [Character: Int64] = ["h": Seconds.hour, "d": Seconds.day]
        guard let unit = text.last.flatMap({ units[$0] }), let count = digits(text.dropLast(), atMost: 3) else {
            return nil
        }
        let seconds = count * unit
        return windows.contains(seconds) ? seconds : nil
    }

    /// Reads a time of day, for example `04:00`. Returns the seconds since midnight.
    static func time(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }), let hour = digits(parts[0], atMost: 2),
            let minute = digits(parts[1], atMost: 2), hour < 24, minute < 60
        else { return nil }
        return hour * Seconds.hour + minute * 60
    }

    private static func digits(_ text: some StringProtocol, atMost length: Int) -> Int64? {
        guard (1...length).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}
