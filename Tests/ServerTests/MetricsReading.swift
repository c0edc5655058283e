import ReceiptBridgeTestSupport
import Testing

/// A strict parser of metrics. Violations of the format are listed in `faults`.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
struct MetricsReading {
    /// Values by name and labels as they are written, for example `a{b="c"}`.
    private(set) var samples: [String: Double] = [:]
    /// Types by family.
    private(set) var families: [String: String] = [:]
    private(set) var faults: [String] = []

    init(_ text: String) {
        var current: (name: String, type: String)?
        if !text.hasSuffix("\n") { faults.append("no line feed at the end") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) {
            let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP ") {
                if parts.count < 4 { faults.append("no help: \(line)") }
                current = nil
            } else if line.hasPrefix("# TYPE ") {
                if families[parts[2]] != nil { faults.append("twice: \(line)") }
                if parts[3] == "counter", !parts[2].hasSuffix("_total") { faults.append("no _total: \(line)") }
                families[parts[2]] = parts[3]
                current = (parts[2], parts[3])
            } else {
                read(line, in: current)
            }
        }
    }

    private mutating func read(_ line: String, in family: (name: String, type: String)?) {
        guard let blank = line.lastIndex(of: " "), let value = Double(line[line.index(after: blank)...]) else {
            return faults.append("no number: \(line)")
        }
        let key = String(line[..<blank])
        let name = String(key.prefix { $0 != "{" })
        let endings = family?.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        if !endings.contains(where: { name == (family?.name ?? "") + $0 }) { faults.append("out of place: \(line)") }
        if samples.updateValue(value, forKey: key) != nil { faults.append("twice: \(line)") }
    }

    /// 0 if there is no such sample.
    subscript(_ key: String) -> Double { samples[key] ?? 0 }

    /// The sum of all samples of a name.
    func sum(_ name: String) -> Double {
        samples.reduce(0) { $0 + ($1.key == name || $1.key.hasPrefix(name + "{") ? $1.value : 0) }
    }
}

extension Proxy {
    func metrics() async throws -> MetricsReading { MetricsReading(try await operations("/metrics").text) }

    func metric(_ name: String) async throws -> Double { try await metrics()[name] }

    /// Returns the samples that are not 0, without this prefix of their names, as soon as they are as expected or after
    /// a timeout.
    func samples(_ prefix: String, until expected: [String: Double]) async throws -> [String: Double] {
        try await lastValue(until: { $0 == expected }) {
            let metrics = try await metrics()
            #expect(metrics.faults == [])
            let found = metrics.samples.filter { $0.key.hasPrefix(prefix) && $0.value > 0 }
            return Dictionary(uniqueKeysWithValues: found.map { (String($0.key.dropFirst(prefix.count)), $0.value) })
        }
    }

    /// Number of verifyReceipt requests that have ended, with any status.
    func endedRequests() async throws -> Double {
        let name = #"receipt_bridge_http_requests_total{route="/verifyReceipt","#
        return try await metrics().samples.filter { $0.key.hasPrefix(name) }.map(\.value).reduce(0, +)
    }
}
