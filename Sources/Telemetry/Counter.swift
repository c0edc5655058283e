import Synchronization

/// A number that only grows. Counting costs one atomic addition and takes no lock.
package final class Counter: Sendable {
    private let value = Atomic<Int64>(0)

    package init() {}

    package func add(_ amount: Int64 = 1) { value.wrappingAdd(amount, ordering: .relaxed) }

    /// Now.
    package var count: Int64 { value.load(ordering: .relaxed) }
}
