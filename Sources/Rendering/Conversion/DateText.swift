package import StoreTypes

/// Parses the dates of verifyReceipt responses, for responses from the time before the `_ms` keys.
///
/// The format is `2011-02-17 06:20:57 Etc/GMT`. Other time zones are not parsed, because the GMT text always
/// accompanies them.
package enum DateText {
    /// Returns the instant; `nil` for any other text.
    package static func instant(_ text: String) -> Timestamp? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) Etc\/GMT/) else { return nil }
        let parts = [match.1, match.2, match.3, match.4, match.5, match.6].compactMap { Int64($0) }
        guard parts.count == 6, (1...12).contains(parts[1]), (1...31).contains(parts[2]), parts[3] < 24, parts[4] < 60,
            parts[5] < 60
        else { return nil }
        let time = parts[3] * 3_600 + parts[4] * 60 + parts[5]
        return Timestamp(seconds: days(year: parts[0], month: parts[1], day: parts[2]) * 86_400 + time)
    }

    /// Returns the number of days since 1970-01-01. This is the inverse of ``CivilTime``, with the leap day as the
    /// last day of the year.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = (month <= 2 ? year - 1 : year) + 400
        let yearOfEra = year % 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return year / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468 - 146_097
    }
}
