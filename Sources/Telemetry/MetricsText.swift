/// Writes metrics in version 0.0.4 of Prometheus' text format. Families are written one after the other, each once.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package struct MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The metric type that is announced to Prometheus.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// Label names and values, in the order in which they are written.
    package typealias Labels = [(name: String, value: String)]

    package private(set) var bytes: [UInt8] = []

    package init() { bytes.reserveCapacity(32_768) }

    /// Begins a metric family; its samples follow.
    package mutating func family(_ family: MetricFamily) {
        write("# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.kind.rawValue)\n")
    }

    /// Writes one sample of the family that was begun last.
    package mutating func sample(_ family: MetricFamily, _ labels: Labels, _ value: Int64) {
        sample(family.name, labels, text: String(value))
    }

    /// Writes one sample without labels.
    package mutating func sample(_ family: MetricFamily, _ value: Int64) { sample(family, [], value) }

    /// Writes one sample without labels.
    package mutating func sample(_ family: MetricFamily, _ value: Double) { sample(family, [], fraction: value) }

    /// Writes one sample.
    package mutating func sample(_ family: MetricFamily, _ labels: Labels, fraction value: Double) {
        sample(family.name, labels, text: Self.text(value))
    }

    /// Writes a family that has a single sample without labels.
    package mutating func single(_ family: MetricFamily, _ value: Int64) {
        self.family(family)
        sample(family, value)
    }

    /// Writes a sample for each counter of a table that is not 0. Zeros are omitted because most combinations never
    /// occur.
    ///
    /// - Parameters:
    ///   - labels: Labels to write before those of the table.
    ///   - zeros: Pass `true` to write the counters that are 0 too.
    package mutating func samples(
        _ family: MetricFamily, _ labels: Labels = [], of table: CounterTable, zeros: Bool = false
    ) {
        table.forEach { values, count in
            guard count > 0 || zeros else { return }
            sample(family, labels + zip(table.labels.map(\.name), values), count)
        }
    }

    /// Writes the buckets, the sum and the count of a histogram. Writes nothing if the histogram is empty and has
    /// labels, because most label values never occur.
    package mutating func samples(_ family: MetricFamily, _ labels: Labels = [], of histogram: Histogram) {
        let seconds = histogram.seconds
        let buckets = histogram.cumulative
        let count = buckets.last?.count ?? 0
        guard count > 0 || labels.isEmpty else { return }
        for (bound, count) in buckets {
            sample("\(family.name)_bucket", labels + [("le", Self.text(bound))], text: String(count))
        }
        sample("\(family.name)_sum", labels, text: Self.text(seconds))
        sample("\(family.name)_count", labels, text: String(count))
    }

    private mutating func sample(_ name: String, _ labels: Labels, text: String) {
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
        write(" \(text)\n")
    }

    /// Writes a number as Prometheus expects it. Whole numbers have no fraction, for example `3` instead of `3.0`.
    private static func text(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value.isNaN { return "NaN" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
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
