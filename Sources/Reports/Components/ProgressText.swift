package import AppStoreTypes
import Foundation

/// A progress line of parts with different importance, which can be shortened to the width of a terminal.
package struct ProgressText: Sendable, Hashable {
    /// A part of the line, with the separator before it.
    package struct Part: Sendable, Hashable {
        let text: String
        let short: String?
        let importance: Int
        let separator: String

        /// Creates a part.
        ///
        /// - Parameters:
        ///   - text: Text of the part.
        ///   - short: Shorter form of the text; `nil` if there is none.
        ///   - importance: Parts with the smallest importance are omitted first.
        ///   - separator: Separator before the part, unless it is the first. A comma is used if the previous part has
        ///     the same separator.
        package init(_ text: String, short: String? = nil, importance: Int, after separator: String = ", ") {
            self.text = text
            self.short = short
            self.importance = importance
            self.separator = separator
        }
    }

    private var parts: [Part]

    /// Creates a line.
    package init(_ parts: [Part]) { self.parts = parts }

    /// All parts, in their order.
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

    /// Index of the least important part; the last one if several have the same importance.
    private var leastImportant: Int? {
        parts.indices.min { (parts[$0].importance, -$0) < (parts[$1].importance, -$1) }
    }
}

extension ProgressText.Part {
    /// The time until the rate limit allows the next call; `nil` if it is less than a second. For example, `waiting
    /// 42 s: App Store Server API rate limit`, or `waiting for Apple until 14:05` if Apple named the time.
    ///
    /// - Parameters:
    ///   - wait: The wait; `nil` if no call is waiting.
    ///   - importance: Importance, which should be higher than that of any other part.
    ///   - now: The current time.
    ///   - localTime: Converts seconds since 1970 to the local time of this machine.
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
    /// Returns the time of day after a wait. A wait of at least two minutes ends at a whole minute, not before its end;
    /// a shorter one has seconds.
    private static func clockTime(now: Timestamp, after wait: Duration, localTime: (Int64) -> CivilTime) -> String {
        // The wait is measured a moment before, so an end at a whole minute must not be rounded up to the next.
        let end = Int64((Double(now.milliseconds) / 1_000 + wait / .seconds(1)).rounded())
        let isLong = wait >= .seconds(120)
        let time = localTime(isLong ? (end + 59) / 60 * 60 : end)
        func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return [time.hour, time.minute].map(digits).joined(separator: ":") + (isLong ? "" : ":" + digits(time.second))
    }

    /// Returns the local time of this machine.
    package static func localTime(_ seconds: Int64) -> CivilTime {
        CivilTime(
            seconds: seconds + Int64(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
        )
    }
}
