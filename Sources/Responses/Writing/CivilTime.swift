import Foundation

/// A date and time of day in the proleptic Gregorian calendar, converted from a number of seconds.
///
/// This is not a `DateFormatter` because that is ten times slower and a response contains about a thousand dates.
/// Times outside the years 0 to 9999 are clamped to the nearest second in that range, because the text has room for
/// four digits.
package struct CivilTime: Sendable, Hashable {
    package let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    /// 0000-01-01 00:00:00 to 9999-12-31 23:59:59, in seconds since 1970.
    static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// The form of a date as text; always ``length`` bytes.
    static let placeholder = "0000-00-00 00:00:00"
    static let length = 19

    /// - Parameter seconds: seconds since 1970-01-01 00:00:00, in the local time of the desired time zone.
    package init(seconds: Int64) {
        let clamped = Int(min(max(seconds, Self.range.lowerBound), Self.range.upperBound))
        var time = clamped % 86_400
        if time < 0 { time += 86_400 }
        // Days since 0000-03-01. With years that begin in March the leap day is the last day of the year, and the
        // start of a month follows from a line with the slope 153 / 5. Another era of 400 years is added so that
        // every quotient is positive.
        let days = (clamped - time) / 86_400 + 719_468 + 146_097
        let (era, dayOfEra) = days.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + (era - 1) * 400 + (month <= 2 ? 1 : 0)
        hour = time / 3_600
        minute = time / 60 % 60
        second = time % 60
    }

    /// Writes `YYYY-MM-DD HH:MM:SS` into ``length`` bytes.
    func write(into text: UnsafeMutableBufferPointer<UInt8>) {
        Self.twoDigits(year / 100, text, 0)
        Self.twoDigits(year % 100, text, 2)
        text[4] = 0x2D
        Self.twoDigits(month, text, 5)
        text[7] = 0x2D
        Self.twoDigits(day, text, 8)
        text[10] = 0x20
        Self.twoDigits(hour, text, 11)
        text[13] = 0x3A
        Self.twoDigits(minute, text, 14)
        text[16] = 0x3A
        Self.twoDigits(second, text, 17)
    }

    /// Writes a number below 100 as two digits.
    private static func twoDigits(_ number: Int, _ text: UnsafeMutableBufferPointer<UInt8>, _ position: Int) {
        text[position] = UInt8(truncatingIfNeeded: 0x30 + number / 10)
        text[position + 1] = UInt8(truncatingIfNeeded: 0x30 + number % 10)
    }
}

/// The time zone America/Los_Angeles, with daylight saving time.
///
/// Despite their name, Apple's `_pst` keys follow the real rules of the zone. The transitions are read from
/// Foundation only once, because Foundation takes about a microsecond for a date and this table some nanoseconds.
/// Before 1970 and after 2100, which no genuine date reaches, standard time applies all year.
struct LosAngelesTime: Sendable {
    /// The table for all genuine dates. It is created on first use.
    static let shared = LosAngelesTime(firstYear: 1970, lastYear: 2100)

    private let firstYear: Int
    /// The instants at which the offset changes, and the offset in seconds from then on.
    private let transitions: [(instant: Int64, offset: Int64)]
    /// For each year from `firstYear` on, the index of the last transition before the year begins.
    private let lastBeforeYear: [Int]

    private init(firstYear: Int, lastYear: Int) {
        guard let zone = TimeZone(identifier: "America/Los_Angeles") else {
            preconditionFailure("Foundation does not know the time zone America/Los_Angeles")
        }
        let starts = (firstYear...lastYear + 1).map(Self.secondsAtStart(ofYear:))
        var transitions: [(instant: Int64, offset: Int64)] = [(.min, Self.standard)]
        var lastBeforeYear = [0]
        var next = starts[0]
        for start in starts.dropFirst() {
            while let date = zone.nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: Double(next))) {
                let instant = Int64(date.timeIntervalSince1970)
                guard instant < start else { break }
                transitions.append((instant, Int64(zone.secondsFromGMT(for: date))))
                next = instant
            }
            lastBeforeYear.append(transitions.count - 1)
            next = start
        }
        self.firstYear = firstYear
        self.transitions = transitions
        self.lastBeforeYear = lastBeforeYear
    }

    /// Returns the number of seconds to add to UTC.
    func offset(at seconds: Int64, year: Int) -> Int64 {
        let row = year - firstYear
        guard lastBeforeYear.indices.contains(row) else { return Self.standard }
        var index = lastBeforeYear[row]
        while index + 1 < transitions.count, transitions[index + 1].instant <= seconds { index += 1 }
        return transitions[index].offset
    }

    /// Pacific Standard Time: eight hours behind UTC, in seconds.
    private static let standard: Int64 = -8 * 3_600

    /// Returns the seconds since 1970 at the start of a year in UTC.
    private static func secondsAtStart(ofYear year: Int) -> Int64 {
        let before = Int64(year - 1)
        return (before * 365 + before / 4 - before / 100 + before / 400 - 719_162) * 86_400
    }
}
