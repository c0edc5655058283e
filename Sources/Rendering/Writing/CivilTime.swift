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

    private static func twoDigits(_ number: Int, _ text: UnsafeMutableBufferPointer<UInt8>, _ position: Int) {
        text[position] = UInt8(truncatingIfNeeded: 0x30 + number / 10)
        text[position + 1] = UInt8(truncatingIfNeeded: 0x30 + number % 10)
    }
}
