/// A histogram of durations, with buckets from half a millisecond to ten seconds.
package final class Histogram: Sendable {
    /// The inclusive upper bounds of all buckets except the last, in nanoseconds.
    static let bounds: [Int64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    private let buckets = (0...bounds.count).map { _ in Counter() }
    private let nanoseconds = Counter()

    package init() {}

    /// Records one duration. Negative durations count as zero.
    package func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // Anything longer falls into the last bucket anyway. The limit of 1,000,000 s prevents an overflow.
        let time = min(max(seconds, 0), 1_000_000) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
        var bucket = 0
        while bucket < Self.bounds.count, time > Self.bounds[bucket] { bucket += 1 }
        buckets[bucket].add()
        nanoseconds.add(time)
    }

    package var count: Int64 { buckets.reduce(0) { $0 + $1.count } }

    package var seconds: Double { Double(nanoseconds.count) / 1e9 }

    /// Returns the upper bound, in seconds, of the bucket that contains the given quantile.
    ///
    /// For example, `seconds(at: 0.95)` is a bound below which at least 95 % of the durations lie. Returns `nil` if
    /// nothing was recorded, and infinity if the quantile is in the last bucket.
    package func seconds(at quantile: Double) -> Double? {
        let counts = buckets.map(\.count)
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        var sum: Int64 = 0
        for (bucket, count) in counts.enumerated() {
            sum += count
            if Double(sum) >= quantile * Double(total) {
                return bucket < Self.bounds.count ? Double(Self.bounds[bucket]) / 1e9 : .infinity
            }
        }
        return .infinity
    }

    /// For each bucket, the number of durations up to its upper bound. The last element counts all of them.
    var cumulative: [(bound: Double, count: Int64)] {
        var sum: Int64 = 0
        return buckets.enumerated().map { bucket, counter in
            sum += counter.count
            return (bucket < Self.bounds.count ? Double(Self.bounds[bucket]) / 1e9 : .infinity, sum)
        }
    }
}
