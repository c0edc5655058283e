import Foundation

/// An instant, in milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Sendable, Hashable, Comparable, Codable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(seconds: Int64) { self.milliseconds = seconds * 1000 }

    /// The years 0 to 9999. A time from outside that is read with this range can be moved by any usual duration.
    package static let range =
        Timestamp(
            seconds: CivilTime.range.lowerBound)...Timestamp(milliseconds: CivilTime.range.upperBound * 1000 + 999)

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// Whole seconds since 1970, rounded down, as in Apple's date texts. For example, -1 ms is second -1.
    package var seconds: Int64 {
        let quotient = milliseconds / 1000
        return milliseconds % 1000 < 0 ? quotient - 1 : quotient
    }

    /// The number of days since 1970-01-01, in UTC.
    package var day: Int64 { seconds / Seconds.day }

    package var sinceEpoch: Duration { .milliseconds(milliseconds) }

    package func advanced(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + duration.inMilliseconds)
    }

    /// Returns the time from this instant to another one; negative if the other one is earlier.
    package func duration(to other: Timestamp) -> Duration { other.sinceEpoch - sinceEpoch }
}

/// Lengths of time in seconds, for instants and settings that are numbers of seconds.
public enum Seconds {
    @inlinable public static var hour: Int64 { 60 * 60 }
    @inlinable public static var day: Int64 { 24 * hour }
}

extension Duration {
    package static func minutes(_ count: Int64) -> Duration { .seconds(60 * count) }
    package static func hours(_ count: Int64) -> Duration { .seconds(Seconds.hour * count) }
    package static func days(_ count: Int64) -> Duration { .seconds(Seconds.day * count) }

    /// Whole milliseconds, as SQL and the wire have them.
    package var inMilliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}

extension Timestamp {
    /// The time of this machine's clock, in whole milliseconds.
    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
