package import StoreTypes

/// The instant that a date of an old answer names, for answers older than their `_ms` keys.
///
/// `2011-02-17 06:20:57 Etc/GMT`; other zones are not read, since the GMT text always stands beside theirs.
package enum DateText {
    /// Nil for any other text.
    package static func instant(_ text: String) -> Timestamp? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) Etc\/GMT/) else { return nil }
        let parts = [match.1, match.2, match.3, match.4, match.5, match.6].compactMap { Int64($0) }
        guard parts.count == 6, (1...12).contains(parts[1]), (1...31).contains(parts[2]), parts[3] < 24, parts[4] < 60,
            parts[5] < 60
        else { return nil }
        let time = parts[3] * 3_600 + parts[4] * 60 + parts[5]
        return Timestamp(seconds: days(year: parts[0], month: parts[1], day: parts[2]) * 86_400 + time)
    }

    /// Since 1970-01-01: the inverse of ``CivilTime``, with the leap day last in the year.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = (month <= 2 ? year - 1 : year) + 400
        let yearOfEra = year % 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return year / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468 - 146_097
    }
}
