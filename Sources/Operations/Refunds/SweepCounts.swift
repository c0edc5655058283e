import Synchronization

/// How far a sweep is.
package struct SweepCounts: Sendable, Hashable {
    /// Customers of this run.
    package var customers = 0
    /// Of whom all refunds are known now.
    package var swept = 0
    /// Refunds that were told in this run.
    package var reported = 0
    /// Customers whom the App Store does not know.
    package var notFound = 0
    /// Customers who could not be asked about for now.
    package var failed = 0
    /// Customers of apps without a key.
    package var withoutKey = 0

    package init() {}
}

/// The counts, for whoever looks on; and the wish to stop.
package final class SweepMonitor: Sendable {
    private let counts = Mutex(SweepCounts())
    private let stopped = Atomic(false)

    package init() {}

    package var now: SweepCounts { counts.withLock { $0 } }

    package func change(_ body: (inout SweepCounts) -> Void) { counts.withLock { body(&$0) } }

    /// No new work from now on.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    package var isStopped: Bool { stopped.load(ordering: .relaxed) }
}
