/// A date and a time of day of the proleptic Gregorian calendar, from a count of seconds.
///
/// By hand, because a formatter costs ten times as much and an answer holds a thousand dates. What lies outside the
/// years 0 to 9999 becomes the nearest second inside: the text has room for four digits.
package struct CivilTime: Sendable, Hashable {
    package let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    /// 0000-01-01 00:00:00 to 9999-12-31 23:59:59.
    static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// What the text of a date looks like; always ``length`` bytes.
    static let placeholder = "0000-00-00 00:00:00"
    static let length = 19

    /// - Parameter seconds: since 1970-01-01 00:00:00 of the zone whose time it shall be.
    package init(seconds: Int64) {
        let clamped = Int(min(max(seconds, Self.range.lowerBound), Self.range.upperBound))
        var time = clamped % 86_400
        if time < 0 { time += 86_400 }
        // Days since 0000-03-01: with the leap day last in the year, months follow from a line through 153 / 5. One
        // era of 400 years before that keeps every quotient positive.
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

    /// `YYYY-MM-DD HH:MM:SS`, into ``length`` bytes.
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
