/// How long things took, in classes from half a millisecond to ten seconds.
package final class Histogram: Sendable {
    /// The upper ends of the classes but the last, in nanoseconds.
    static let bounds: [Int64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    private let cells = (0...bounds.count).map { _ in Counter() }
    private let nanoseconds = Counter()

    package init() {}

    package func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // What is longer than this is in the last class anyway, and cannot overflow.
        let time = min(max(seconds, 0), 1_000_000) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
        var place = 0
        while place < Self.bounds.count, time > Self.bounds[place] { place += 1 }
        cells[place].add()
        nanoseconds.add(time)
    }

    /// How many were observed.
    package var count: Int64 { cells.reduce(0) { $0 + $1.count } }

    /// Of all together.
    package var seconds: Double { Double(nanoseconds.count) / 1e9 }

    /// The upper end of the class in which the given part of all observations ends; nil where there are none, and
    /// infinite in the last class.
    package func seconds(at part: Double) -> Double? {
        let counts = cells.map(\.count)
        let whole = counts.reduce(0, +)
        guard whole > 0 else { return nil }
        var sum: Int64 = 0
        for (place, count) in counts.enumerated() {
            sum += count
            if Double(sum) >= part * Double(whole) {
                return place < Self.bounds.count ? Double(Self.bounds[place]) / 1e9 : .infinity
            }
        }
        return .infinity
    }

    /// For each class, how many took as long as its end at most; the last is all of them.
    var cumulative: [(bound: Double, count: Int64)] {
        var sum: Int64 = 0
        return cells.enumerated().map { place, cell in
            sum += cell.count
            return (place < Self.bounds.count ? Double(Self.bounds[place]) / 1e9 : .infinity, sum)
        }
    }
}
