/// Writes metrics as Prometheus reads them, version 0.0.4 of its text format. Families are written one after the other,
/// each once.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package struct MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// What Prometheus makes of the numbers.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package typealias Labels = [(name: String, value: String)]

    package private(set) var bytes: [UInt8] = []

    package init() { bytes.reserveCapacity(32_768) }

    /// Begins a family; its samples follow.
    ///
    /// - Parameters:
    ///   - name: with its unit; that of a counter ends in `_total`.
    ///   - help: one sentence.
    package mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        write("# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n")
    }

    /// A number of the family that began last.
    package mutating func sample(_ name: String, _ labels: Labels, _ value: Int64) {
        sample(name, labels, text: String(value))
    }

    package mutating func sample(_ name: String, _ value: Int64) { sample(name, [], value) }

    package mutating func sample(_ name: String, _ value: Double) { sample(name, [], text: Self.text(value)) }

    /// A whole family of one number.
    package mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int64) {
        family(name, kind, help)
        sample(name, value)
    }

    /// The numbers of a table that are not 0: most combinations never happen.
    ///
    /// - Parameter labels: in front of the table's own.
    package mutating func samples(_ name: String, _ labels: Labels = [], of table: CounterTable, zeros: Bool = false) {
        table.forEach { values, count in
            guard count > 0 || zeros else { return }
            sample(name, labels + zip(table.labels.map(\.name), values), count)
        }
    }

    /// What a histogram holds; nothing where nothing was observed and labels tell it from others.
    package mutating func samples(_ name: String, _ labels: Labels = [], of histogram: Histogram) {
        let seconds = histogram.seconds
        let classes = histogram.cumulative
        let count = classes.last?.count ?? 0
        guard count > 0 || labels.isEmpty else { return }
        for (bound, count) in classes {
            sample("\(name)_bucket", labels + [("le", Self.text(bound))], count)
        }
        sample("\(name)_sum", labels, text: Self.text(seconds))
        sample("\(name)_count", labels, count)
    }

    private mutating func sample(_ name: String, _ labels: Labels, text: String) {
        write(name)
        if !labels.isEmpty {
            write("{")
            for (place, label) in labels.enumerated() {
                write("\(place > 0 ? "," : "")\(label.name)=\"")
                escaped(label.value)
                write("\"")
            }
            write("}")
        }
        write(" \(text)\n")
    }

    private static func text(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value.isNaN { return "NaN" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

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
