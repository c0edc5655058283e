package import ReceiptBridgeBase

/// How far the database's clock is ahead of this machine's. What servers share is dated by the database's clock, but
/// signatures, tokens and lookups are dated by this machine's.
package struct ClockDifference: Sendable, Hashable {
    /// The smallest difference that an operator should correct.
    package static let threshold = Duration.seconds(2)

    /// Negative if the database's clock is behind.
    package let duration: Duration

    /// The database's clock was read between two times of this machine's. What the duration of the exchange can explain
    /// is no difference.
    package init(of time: Timestamp, readBetween begin: Timestamp, and end: Timestamp) {
        duration = time < begin ? begin.duration(to: time) : max(end.duration(to: time), .zero)
    }

    package var magnitude: Duration { max(duration, .zero - duration) }

    package var isTooLarge: Bool { magnitude >= Self.threshold }

    /// For example, `the database's clock is 600000 ms behind this machine's`.
    package var description: String {
        guard duration != .zero else { return "the database's clock agrees with this machine's" }
        let direction = duration < .zero ? "behind" : "ahead of"
        return "the database's clock is \(magnitude.inMilliseconds) ms \(direction) this machine's"
    }
}

/// Whether the difference between the clocks is too large, from one comparison to the next.
package struct ClockWatch: Sendable, Hashable {
    package private(set) var difference: ClockDifference?
    /// Whether the difference has been too large, and has not become smaller than half of that since, so that one which
    /// is about as large as the threshold is reported once. ``record(_:)`` returns whether this has changed.
    package private(set) var isTooLarge = false

    package init() {}

    package mutating func record(_ new: ClockDifference) -> Bool {
        let was = isTooLarge
        isTooLarge = new.isTooLarge || was && new.magnitude >= ClockDifference.threshold / 2
        difference = new
        return isTooLarge != was
    }
}
