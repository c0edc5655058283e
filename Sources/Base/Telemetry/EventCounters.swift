import Synchronization

/// The counters of ``MetricFamily/events``: one number each, without labels. They are exported without further code, so
/// such a metric needs its declaration and the line that counts.
package final class EventCounters: Sendable {
    private let values = Mutex<[MetricFamily: Int64]>([:])

    package init() {}

    /// The number of events since the start of the process.
    package subscript(_ family: MetricFamily) -> Int64 { values.withLock { $0[family] ?? 0 } }

    /// Counts events.
    ///
    /// - Parameter family: One of ``MetricFamily/events``; others are not exported from here.
    package func add(_ family: MetricFamily, _ count: Int = 1) {
        values.withLock { $0[family, default: 0] += Int64(count) }
    }

    /// Writes all families, also those whose count is 0.
    package func write(into text: inout MetricsText) {
        for family in MetricFamily.events { text.single(family, self[family]) }
    }
}
