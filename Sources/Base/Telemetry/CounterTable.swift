import Synchronization

/// A counter that only increases. Incrementing it costs one atomic addition and takes no lock.
package final class Counter: Sendable {
    private let value = Atomic<Int64>(0)

    package init() {}

    /// Adds the amount. Relaxed ordering is enough because no other memory depends on the count.
    package func add(_ amount: Int64 = 1) { value.wrappingAdd(amount, ordering: .relaxed) }

    package var count: Int64 { value.load(ordering: .relaxed) }
}

/// A metric label with a fixed set of values, usually an enumeration of the field that the metric counts.
///
/// Because the set is fixed, the content of a request can never create a new time series.
package protocol MetricLabel: CaseIterable, Hashable, Sendable where AllCases == [Self] {
    /// The value of the label in the metrics output.
    var text: String { get }
    var index: Int { get }
    /// The values of the label in the metrics output, in the order of the indexes.
    static var texts: [String] { get }
}

extension MetricLabel {
    package var text: String { "\(self)" }

    package var index: Int { Self.allCases.firstIndex(of: self) ?? -1 }

    package static var texts: [String] { allCases.map(\.text) }
}

extension MetricLabel where Self: RawRepresentable<String> {
    package var text: String { rawValue }
}

/// A table of counters for every combination of the values of some labels.
///
/// All counters are allocated when the table is made, so incrementing one creates none.
package final class CounterTable: Sendable {
    private let labels: [[String]]
    private let cells: [Counter]

    /// The values of each label are ``MetricLabel/texts``, or known only at run time, for example the routes. The index
    /// of the last label changes fastest.
    package init(_ labels: [String]...) {
        self.labels = labels
        cells = (0..<labels.reduce(1) { $0 * $1.count }).map { _ in Counter() }
    }

    /// Adds to the counter of these label values, in the order of the table's labels.
    package func add(_ labels: any MetricLabel..., by amount: Int64 = 1) { cell(labels.map(\.index))?.add(amount) }

    /// Adds to the counter of this value of the only label. Other values are ignored.
    package func add(_ value: String) { cell([labels[0].firstIndex(of: value) ?? -1])?.add() }

    /// Adds to the counter at these label indexes. Indexes outside the table are ignored.
    package func add(at indexes: Int...) { cell(indexes)?.add() }

    package func count(_ labels: any MetricLabel...) -> Int64 { cell(labels.map(\.index))?.count ?? 0 }

    private func cell(_ indexes: [Int]) -> Counter? {
        var cell = 0
        for (index, label) in zip(indexes, labels) {
            guard label.indices.contains(index) else { return nil }
            cell = cell * label.count + index
        }
        return indexes.count == labels.count ? cells[cell] : nil
    }

    package var total: Int64 { cells.reduce(0) { $0 + $1.count } }

    /// Calls the closure with each counter and the values of its labels, in the order of the labels.
    func forEach(_ body: (_ values: [String], _ count: Int64) -> Void) {
        for (index, cell) in cells.enumerated() {
            var (remainder, values): (Int, [String]) = (index, [])
            for label in labels.reversed() {
                values.append(label[remainder % label.count])
                remainder /= label.count
            }
            body(values.reversed(), cell.count)
        }
    }
}

extension CounterTable {
    /// The counters above zero, with the values of their labels.
    package var counted: [(values: [String], count: Int64)] {
        var counted: [(values: [String], count: Int64)] = []
        forEach { values, count in if count > 0 { counted.append((values, count)) } }
        return counted
    }

    /// The counters above zero as text. Example: `whitespace 3, quotes 1`.
    package var words: String {
        counted.map { "\($0.values.joined(separator: " ")) \($0.count)" }.joined(separator: ", ")
    }
}

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
