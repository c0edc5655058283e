import Synchronization

/// A counter that only increases. Incrementing it costs one atomic addition and takes no lock.
package final class Counter: Sendable {
    private let value = Atomic<Int64>(0)

    package init() {}

    /// Adds the amount. Relaxed ordering is enough because no other memory depends on the count.
    package func add(_ amount: Int64 = 1) { value.wrappingAdd(amount, ordering: .relaxed) }

    /// The current value.
    package var count: Int64 { value.load(ordering: .relaxed) }
}

/// A metric label with a fixed set of values.
///
/// Because the set is fixed, the content of a request can never create a new time series. The raw values count from
/// 0.
package protocol MetricLabel: RawRepresentable<Int>, CaseIterable, Sendable {
    /// The value of the label in the metrics output.
    var text: String { get }
}

extension MetricLabel {
    /// Defaults to the name of the case.
    package var text: String { "\(self)" }
}

/// A table of counters for every combination of one, two or three labels.
///
/// All counters are allocated when the table is made, so incrementing one allocates nothing.
package final class CounterTable: Sendable {
    /// The names and values of the labels. The index of the last label changes fastest.
    let labels: [(name: String, values: [String])]
    private let cells: [Counter]
    /// The number of values of the second and of the third label; 1 if there is no such label.
    private let (seconds, thirds): (Int, Int)

    private init(_ labels: [(name: String, values: [String])]) {
        self.labels = labels
        seconds = labels.count > 1 ? labels[1].values.count : 1
        thirds = labels.count > 2 ? labels[2].values.count : 1
        cells = (0..<labels.reduce(1) { $0 * $1.values.count }).map { _ in Counter() }
    }

    /// Creates a table with one label whose values are known only at run time, for example the configured hosts.
    package convenience init(_ name: String, _ values: [String]) { self.init([(name, values)]) }

    /// Creates a table with one label.
    package convenience init<A: MetricLabel>(_ name: String, _: A.Type) {
        self.init([(name, A.allCases.map(\.text))])
    }

    /// Creates a table with two labels.
    package convenience init<A: MetricLabel, B: MetricLabel>(
        _ first: String, _: A.Type, _ second: String, _: B.Type
    ) {
        self.init([(first, A.allCases.map(\.text)), (second, B.allCases.map(\.text))])
    }

    /// Creates a table with three labels.
    package convenience init<A: MetricLabel, B: MetricLabel, C: MetricLabel>(
        _ first: String, _: A.Type, _ second: String, _: B.Type, _ third: String, _: C.Type
    ) {
        self.init([
            (first, A.allCases.map(\.text)), (second, B.allCases.map(\.text)), (third, C.allCases.map(\.text)),
        ])
    }

    /// Creates a table with two labels, of which the first has values known only at run time.
    package convenience init<B: MetricLabel>(_ first: String, _ values: [String], _ second: String, _: B.Type) {
        self.init([(first, values), (second, B.allCases.map(\.text))])
    }

    /// Adds to the counter at the given label indexes. Indexes outside the table are ignored.
    package func add(_ first: Int, _ second: Int = 0, _ third: Int = 0, by amount: Int64 = 1) {
        if let cell = cell(first, second, third) { cells[cell].add(amount) }
    }

    /// Returns the current count at the given label indexes, or 0 if they are outside the table.
    package func count(_ first: Int, _ second: Int = 0, _ third: Int = 0) -> Int64 {
        cell(first, second, third).map { cells[$0].count } ?? 0
    }

    /// The index of a counter, or `nil` if it is outside the table.
    private func cell(_ first: Int, _ second: Int, _ third: Int) -> Int? {
        let cell = (first * seconds + second) * thirds + third
        return cells.indices.contains(cell) ? cell : nil
    }

    /// The sum of all counters.
    package var total: Int64 { cells.reduce(0) { $0 + $1.count } }

    /// Calls the closure with each counter and the values of its labels, in the order of the labels.
    func forEach(_ body: (_ values: [String], _ count: Int64) -> Void) {
        for (index, cell) in cells.enumerated() {
            var (remainder, values): (Int, [String]) = (index, [])
            for label in labels.reversed() {
                values.append(label.values[remainder % label.values.count])
                remainder /= label.values.count
            }
            body(values.reversed(), cell.count)
        }
    }
}

extension CounterTable {
    /// The counters above zero as text. Example: `whitespace 3, quotes 1`.
    package var words: String {
        var words: [String] = []
        forEach { values, count in if count > 0 { words.append("\(values.joined(separator: " ")) \(count)") } }
        return words.joined(separator: ", ")
    }
}
