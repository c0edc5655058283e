/// Writes metrics in version 0.0.4 of Prometheus' text format. Families are written one after the other, each once.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package struct MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The metric type that is announced to Prometheus.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package private(set) var bytes: [UInt8] = []

    package init() { bytes.reserveCapacity(32_768) }

    /// Begins a metric family; its samples follow.
    package mutating func family(_ family: MetricFamily) { begin(family.row) }

    private mutating func begin(_ row: MetricRow) {
        write("# HELP \(row.name) \(row.help)\n# TYPE \(row.name) \(row.kind.rawValue)\n")
    }

    /// Writes the family of each event.
    package mutating func families(of events: CounterTable) {
        for event in MetricEvent.allCases {
            begin(event.row)
            sample(event.row.name, [], events.count(event))
        }
    }

    /// Writes one sample of the family that was begun last, with the values of its labels.
    package mutating func sample(_ family: MetricFamily, _ labels: [String], _ value: some MetricValue) {
        sample(family.row.name, zip(family.row.labels, labels).map { ($0, $1) }, value)
    }

    /// Writes a family that has at most one sample, without labels.
    package mutating func single(_ family: MetricFamily, _ value: (some MetricValue)?) {
        self.family(family)
        if let value { sample(family, [], value) }
    }

    /// Writes a family with a sample for each element: the values of the family's labels, and the value.
    package mutating func family<Element>(
        _ family: MetricFamily, of elements: some Sequence<Element>,
        _ sample: (Element) -> (labels: [String], value: some MetricValue)
    ) {
        self.family(family)
        for element in elements {
            let (labels, value) = sample(element)
            self.sample(family, labels, value)
        }
    }

    /// Writes a family with a sample for each counter of a table, also for those that are 0: a counter that begins with
    /// its first events has no increase, so no alert would fire for them.
    package mutating func family(_ family: MetricFamily, of table: CounterTable) {
        self.family(family)
        samples(family, of: table)
    }

    /// Writes the samples of one table of several in a family.
    ///
    /// - Parameter labels: Values of the family's labels that stand before those of the table.
    package mutating func samples(_ family: MetricFamily, _ labels: [String] = [], of table: CounterTable) {
        table.forEach { values, count in sample(family, labels + values, count) }
    }

    /// Writes the buckets, the sum and the count of a histogram. Pass `true` for `omitsEmpty` if most label values
    /// never occur and no alert uses the family.
    package mutating func samples(
        _ family: MetricFamily, _ labels: [String] = [], of histogram: Histogram, omitsEmpty: Bool = false
    ) {
        let seconds = histogram.seconds
        let buckets = histogram.cumulative
        let count = buckets.last?.count ?? 0
        guard count > 0 || !omitsEmpty else { return }
        let (name, pairs) = (family.row.name, zip(family.row.labels, labels).map { ($0, $1) })
        for (bound, count) in buckets {
            sample("\(name)_bucket", pairs + [("le", bound.metricText)], count)
        }
        sample("\(name)_sum", pairs, seconds)
        sample("\(name)_count", pairs, count)
    }

    private mutating func sample(_ name: String, _ labels: [(name: String, value: String)], _ value: some MetricValue) {
        write(name)
        if !labels.isEmpty {
            write("{")
            for (index, label) in labels.enumerated() {
                write("\(index > 0 ? "," : "")\(label.name)=\"")
                escaped(label.value)
                write("\"")
            }
            write("}")
        }
        write(" \(value.metricText)\n")
    }

    /// Writes a label value with backslashes, quotes and line feeds escaped.
    private mutating func escaped(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): write("\\\\")
            case UInt8(ascii: "\""): write("\\\"")
            case UInt8(ascii: "\n"): write("\\n")
            default: bytes.append(byte)
            }
        }
    }

    private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

package protocol MetricValue {
    var metricText: String { get }
}

extension Int: MetricValue {
    package var metricText: String { String(self) }
}

extension Int64: MetricValue {
    package var metricText: String { String(self) }
}

extension Double: MetricValue {
    /// Whole numbers have no fraction, for example `3` instead of `3.0`.
    package var metricText: String {
        if isInfinite { return self > 0 ? "+Inf" : "-Inf" }
        if isNaN { return "NaN" }
        return self == rounded() && abs(self) < 1e15 ? String(Int64(self)) : String(self)
    }
}
