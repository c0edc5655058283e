import Synchronization

/// Counters by a name. Names come from the code, never from requests or responses, so there are only so many.
package final class NamedCounters: Sendable {
    private let values = Mutex<[String: Int64]>([:])

    package init() {}

    /// Counts one event.
    package func add(_ name: String) { values.withLock { $0[name, default: 0] += 1 } }

    /// The counters, sorted by name.
    package var sorted: [(name: String, count: Int64)] {
        values.withLock { $0 }.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
    }
}
