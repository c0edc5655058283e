import ReceiptBridgeBase

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
