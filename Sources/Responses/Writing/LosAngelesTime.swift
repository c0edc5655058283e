import Base
import Foundation

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
        CivilTime.days(year: Int64(year), month: 1, day: 1) * 86_400
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
