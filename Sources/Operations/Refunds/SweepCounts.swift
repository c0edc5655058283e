import Synchronization

/// The progress of a sweep.
package struct SweepCounts: Sendable, Hashable {
    /// Number of customers in this run.
    package var customers = 0
    /// Customers whose refunds have been looked up.
    package var swept = 0
    /// Refunds reported in this run.
    package var reported = 0
    /// Customers that the App Store does not know.
    package var notFound = 0
    /// Customers whose lookup failed for now.
    package var failed = 0
    /// Customers of apps without a key.
    package var withoutKey = 0

    package init() {}
}

/// Shared progress counts of a sweep, and a flag to stop it.
package final class SweepMonitor: Sendable {
    private let counts = Mutex(SweepCounts())
    private let stopped = Atomic(false)

    package init() {}

    package var now: SweepCounts { counts.withLock { $0 } }

    package func change(_ body: (inout SweepCounts) -> Void) { counts.withLock { body(&$0) } }

    /// Starts no new lookups from now on.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    package var isStopped: Bool { stopped.load(ordering: .relaxed) }
}
