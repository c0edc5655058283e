import Foundation

/// The clock of America/Los_Angeles, daylight saving time included.
///
/// Apple's `_pst` keys follow the zone's real rules in spite of their name. The transitions are taken once from
/// Foundation, which needs a microsecond a date where the table needs some nanoseconds. Before 1970 and after 2100, which
/// no genuine date reaches, it is standard time all year.
struct LosAngelesTime: Sendable {
    static let shared = LosAngelesTime(firstYear: 1970, lastYear: 2100)

    private let firstYear: Int
    /// When the offset changes, and what it is from then on, in seconds.
    private let transitions: [(instant: Int64, offset: Int64)]
    /// By year: the index of the last transition before it begins.
    private let lastBeforeYear: [Int]

    private init(firstYear: Int, lastYear: Int) {
        guard let zone = TimeZone(identifier: "America/Los_Angeles") else {
            preconditionFailure("Foundation has no zone America/Los_Angeles")
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

    /// Seconds to add to Greenwich time.
    ///
    /// - Parameter year: the year in Greenwich, so that no search is needed.
    func offset(at seconds: Int64, year: Int) -> Int64 {
        let row = year - firstYear
        guard lastBeforeYear.indices.contains(row) else { return Self.standard }
        var index = lastBeforeYear[row]
        while index + 1 < transitions.count, transitions[index + 1].instant <= seconds { index += 1 }
        return transitions[index].offset
    }

    private static let standard: Int64 = -8 * 3_600

    private static func secondsAtStart(ofYear year: Int) -> Int64 {
        let before = Int64(year - 1)
        return (before * 365 + before / 4 - before / 100 + before / 400 - 719_162) * 86_400
    }
}
