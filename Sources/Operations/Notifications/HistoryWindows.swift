package import StoreTypes

/// A span of time in pieces, the earliest first: what is done of it can be kept, whatever the order of the records in a
/// piece. A value, without a socket.
package struct HistoryWindows: Sendable {
    package struct Window: Sendable, Hashable {
        package let start: Timestamp
        package let end: Timestamp

        package init(start: Timestamp, end: Timestamp) {
            self.start = start
            self.end = end
        }
    }

    /// In milliseconds; shorter ones are not cut any more.
    private static let minimum: Int64 = 60_000

    /// Cut out of the rest, the earliest last.
    private var cut: [Window] = []
    private var rest: Window
    private let length: Int64

    /// - Parameter length: of a piece, in milliseconds.
    package init(from start: Timestamp, to end: Timestamp, length: Int64) {
        rest = Window(start: start, end: end)
        self.length = max(length, Self.minimum)
    }

    /// Nil at the end.
    package mutating func next() -> Window? {
        if let window = cut.popLast() { return window }
        guard rest.start < rest.end else { return nil }
        let end = min(rest.start.advanced(byMilliseconds: length), rest.end)
        defer { rest = Window(start: end, end: rest.end) }
        return Window(start: rest.start, end: end)
    }

    /// The piece was too long to be read before its pages' token expired: its halves come next. False where it cannot be
    /// cut.
    package mutating func halve(_ window: Window) -> Bool {
        let length = window.end.milliseconds - window.start.milliseconds
        guard length >= 2 * Self.minimum else { return false }
        let middle = window.start.advanced(byMilliseconds: length / 2)
        cut += [Window(start: middle, end: window.end), Window(start: window.start, end: middle)]
        return true
    }
}
