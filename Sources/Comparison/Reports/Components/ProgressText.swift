package import ReceiptBridgeBase
import Foundation

/// A progress line of parts with different importance, which can be shortened to the width of a terminal.
package struct ProgressText: Sendable, Hashable {
    package struct Part: Sendable, Hashable {
        let text: String
        let short: String?
        let importance: Int
        let separator: String
        let isInBar: Bool

        /// - Parameters:
        ///   - importance: Parts with the smallest importance are omitted first.
        ///   - separator: Separator before the part, unless it is the first. A comma is used if the previous part has
        ///     the same separator.
        ///   - isInBar: Whether a bar shows the same, so that the part is omitted beside one.
        package init(
            _ text: String, short: String? = nil, importance: Int, after separator: String = ", ", isInBar: Bool = false
        ) {
            (self.text, self.short, self.importance) = (text, short, importance)
            (self.separator, self.isInBar) = (separator, isInBar)
        }
    }

    private var parts: [Part]
    /// Part of the work that is done, 0 to 1; `nil` if it is unknown.
    let fraction: Double?
    /// Number of items that are done, of which a terminal shows the rate; `nil` if the parts say it themselves.
    let items: Int64?

    package init(_ parts: [Part], fraction: Double? = nil, items: Int64? = nil) {
        (self.parts, self.fraction, self.items) = (parts, fraction, items)
    }

    package var text: String {
        parts.indices.map { index in
            let part = parts[index]
            guard index > 0 else { return part.text }
            return (parts[index - 1].separator == part.separator ? ", " : part.separator) + part.text
        }.joined()
    }

    /// Returns a line of at most `columns` characters. Less important parts are shortened, then omitted. If a single
    /// part is still too long, it is cut and ends in an ellipsis.
    package func text(columns: Int) -> String {
        var line = self
        while line.text.count > columns {
            guard let index = line.leastImportant else { break }
            if let short = line.parts[index].short {
                let part = line.parts[index]
                line.parts[index] = Part(short, importance: part.importance, after: part.separator)
            } else if line.parts.count > 1 {
                line.parts.remove(at: index)
            } else {
                break
            }
        }
        let text = line.text
        return text.count <= columns ? text : String(text.prefix(max(columns - 1, 0))) + (columns > 0 ? "…" : "")
    }

    /// Returns the line for a terminal in two parts of together at most `columns` characters: a bar with the
    /// percentage, which is empty if the fraction is unknown or there is little room, and the rest.
    package func line(columns: Int, pace: [Part] = []) -> (bar: String, rest: String) {
        var line = self
        line.parts += pace
        guard let fraction, columns >= Self.barWidth * 3 else { return ("", line.text(columns: columns)) }
        line.parts.removeAll(where: \.isInBar)
        let share = min(max(fraction, 0), 1)
        let (full, percent) = (Int(share * Double(Self.barWidth)), String(Int(share * 100)))
        let bar =
            "[" + String(repeating: "#", count: full) + String(repeating: "-", count: Self.barWidth - full) + "] "
            + String(repeating: " ", count: 3 - percent.count) + percent + " %  "
        return (bar, line.text(columns: columns - bar.count))
    }

    private static let barWidth = 20

    /// Index of the least important part; the last one if several have the same importance.
    private var leastImportant: Int? {
        parts.indices.min { (parts[$0].importance, -$0) < (parts[$1].importance, -$1) }
    }
}

/// Rate and remaining time of work, measured since the first line.
package struct ProgressPace: Sendable {
    private var first: (items: Int64, fraction: Double, seconds: Double)?

    package init() {}

    /// Returns the parts to add to a line: the items per second, and the remaining time if the fraction is known.
    ///
    /// - Parameter seconds: The current time since any fixed point.
    package mutating func parts(of line: ProgressText, at seconds: Double) -> [ProgressText.Part] {
        guard let items = line.items else { return [] }
        guard let first, first.items <= items else {
            first = (items, line.fraction ?? 0, seconds)
            return []
        }
        let elapsed = seconds - first.seconds
        guard elapsed >= 1, items > first.items else { return [] }
        let rate = Int64(Double(items - first.items) / elapsed)
        var parts: [ProgressText.Part] = rate > 0 ? [.init("\(rate.grouped)/s", importance: 2)] : []
        if let fraction = line.fraction, fraction > first.fraction, fraction < 1 {
            parts.append(.remaining(elapsed * (1 - fraction) / (fraction - first.fraction), importance: 3))
        }
        return parts
    }
}

extension ProgressText.Part {
    /// The remaining time with one unit, at least a second. For example, `45 s left`, `12 min left` or `3 h left`.
    package static func remaining(_ seconds: Double, importance: Int) -> Self {
        let time =
            seconds < 90
            ? "\(max(1, Int(seconds.rounded()))) s"
            : seconds < 5_400 ? "\(Int(seconds / 60)) min" : "\(Int(min(seconds / 3_600, 1e9))) h"
        return Self("\(time) left", importance: importance)
    }

    /// The time until the rate limit allows the next call; `nil` if it is less than a second. For example, `waiting
    /// 42 s: App Store Server API rate limit`, or `waiting for Apple until 14:05` if Apple named the time.
    ///
    /// - Parameter localTime: Converts seconds since 1970 to the local time of this machine.
    package static func waiting(
        _ wait: RateLimitWait?, importance: Int, now: Timestamp = .now,
        localTime: (Int64) -> CivilTime = Self.localTime
    ) -> Self? {
        guard let wait, wait.left >= .seconds(1) else { return nil }
        if wait.isNamedByApple {
            let end = clockTime(now: now, after: wait.left, localTime: localTime)
            return Self("waiting for Apple until \(end)", importance: importance)
        }
        let seconds = Int64((wait.left / .seconds(1)).rounded(.up)).grouped
        return Self(
            "waiting \(seconds) s: App Store Server API rate limit", short: "waiting \(seconds) s: rate limit",
            importance: importance)
    }

    /// A wait of at least two minutes ends at a whole minute, not before its end; a shorter one has seconds.
    private static func clockTime(now: Timestamp, after wait: Duration, localTime: (Int64) -> CivilTime) -> String {
        // The wait is measured a moment before, so an end at a whole minute must not be rounded up to the next.
        let end = Int64((Double(now.milliseconds) / 1_000 + wait / .seconds(1)).rounded())
        let isLong = wait >= .seconds(120)
        let time = localTime(isLong ? (end + 59) / 60 * 60 : end)
        func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return [time.hour, time.minute].map(digits).joined(separator: ":") + (isLong ? "" : ":" + digits(time.second))
    }

    package static func localTime(_ seconds: Int64) -> CivilTime {
        CivilTime(
            seconds: seconds + Int64(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
        )
    }
}
