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
