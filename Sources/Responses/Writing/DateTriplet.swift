package import ReceiptBridgeBase

/// An instant in the form of verifyReceipt responses: three keys, whose values are all text.
///
/// | key | text |
/// |---|---|
/// | `X` | `2023-08-14 07:50:46 Etc/GMT` |
/// | `X_ms` | `1691999446000` |
/// | `X_pst` | `2023-08-14 00:50:46 America/Los_Angeles` |
///
/// The dates have whole seconds, rounded down; the milliseconds are exact.
package struct DateTriplet: Sendable, Hashable {
    let utc: CivilTime
    let losAngeles: CivilTime
    package let milliseconds: Int64

    /// Accepts any instant; the texts are clamped to the years 0 to 9999.
    package init(_ instant: Timestamp) {
        let seconds = min(max(instant.seconds, CivilTime.range.lowerBound), CivilTime.range.upperBound)
        utc = CivilTime(seconds: seconds)
        losAngeles = utc.moved(by: LosAngelesTime.shared.offset(at: seconds, year: utc.year), from: seconds)
        milliseconds = instant.milliseconds
    }

    /// The value of the key `X`.
    package var text: String { utc.text + " Etc/GMT" }
    /// The value of the key `X_pst`.
    package var losAngelesText: String { losAngeles.text + " America/Los_Angeles" }
}

extension JSONWriter {
    /// Overwrites the ``CivilTime/length`` characters of a date at `position`.
    fileprivate mutating func overwrite(at position: Int, with time: CivilTime) {
        overwrite(position..<position + CivilTime.length) { time.write(into: $0) }
    }

    mutating func triplet(_ instant: Timestamp, key: ColumnKey.Pieces) {
        let triplet = DateTriplet(instant)
        let beginning = member(key.beginning)
        overwrite(at: beginning + key.datePosition.beginning, with: triplet.utc)
        digits(triplet.milliseconds)
        let end = count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.losAngeles)
    }

    /// Writes the three members of an expiry date in an iOS 6 response: first milliseconds, then the two texts.
    mutating func expiry(_ instant: Timestamp, key: ColumnKey.Pieces) {
        let triplet = DateTriplet(instant)
        member(key.beginning)
        digits(triplet.milliseconds)
        let end = count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.utc)
        // The date is followed only by ` America/Los_Angeles"`, which has 21 bytes.
        overwrite(at: count - CivilTime.length - 21, with: triplet.losAngeles)
    }
}

/// The time zone America/Los_Angeles, with daylight saving time.
///
/// Despite their name, Apple's `_pst` keys follow the real rules of the zone. Before 1970 and after 2100, which no
/// genuine date reaches, standard time applies all year.
///
/// Source: Uniform Time Act of 1966, with the amendments of 1973, 1974, 1986 and 2005 (15 U.S.C. 260a).
struct LosAngelesTime: Sendable {
    /// The table for all genuine dates. It is created on first use.
    static let shared = LosAngelesTime(years: 1970...2100)

    private let firstYear: Int
    /// Daylight saving time of each year, in seconds since 1970.
    private let summers: [Range<Int64>]

    private init(years: ClosedRange<Int>) {
        firstYear = years.lowerBound
        summers = years.map { year in
            let (begins, ends) = Self.rule(of: year)
            // It begins at 2:00 of standard time and ends at 2:00 of daylight saving time: at 10:00 and 9:00 UTC.
            let first = Self.sunday(from: begins, year) * 24 + 10
            let end = Self.sunday(from: ends, year) * 24 + 9
            return first * 3_600..<end * 3_600
        }
    }

    /// Returns the month and day from which the first Sunday is counted, for begin and end.
    private static func rule(of year: Int) -> (begins: (month: Int64, day: Int64), ends: (month: Int64, day: Int64)) {
        switch year {
        case 1974: ((1, 6), (10, 25))
        case 1975: ((2, 23), (10, 25))
        case ...1986: ((4, 24), (10, 25))
        case ...2006: ((4, 1), (10, 25))
        default: ((3, 8), (11, 1))
        }
    }

    /// Returns the first Sunday on or after a date, in days since 1970-01-01, which was a Thursday.
    private static func sunday(from date: (month: Int64, day: Int64), _ year: Int) -> Int64 {
        let day = CivilTime.days(year: Int64(year), month: date.month, day: date.day)
        return day + (6 - (day + 3) % 7)
    }

    func offset(at seconds: Int64, year: Int) -> Int64 {
        let index = year - firstYear
        return (summers.indices.contains(index) && summers[index].contains(seconds) ? -7 : -8) * 3_600
    }
}

extension Timestamp {
    /// The instant of a date as verifyReceipt responses have it, for example `2011-10-12 20:05:50 Etc/GMT` or
    /// `2011-10-12 13:05:50 America/Los_Angeles`; `nil` for any other text, and for the hour that daylight saving time
    /// leaves out. Of the two instants in the hour that it repeats, the later one, so that no period ends too early.
    package init?(responseText text: String) {
        let zone = " America/Los_Angeles"
        guard text.hasSuffix(zone) else {
            self.init(greenwichText: text)
            return
        }
        guard let local = Timestamp(greenwichText: text.dropLast(zone.count) + " Etc/GMT") else { return nil }
        let hours: [Int64] = [8, 7]
        let instant = hours.lazy.map { (local.seconds + $0 * 3_600, -$0 * 3_600) }.first { seconds, offset in
            LosAngelesTime.shared.offset(at: seconds, year: CivilTime(seconds: seconds).year) == offset
        }
        guard let instant else { return nil }
        self.init(seconds: instant.0)
    }
}
