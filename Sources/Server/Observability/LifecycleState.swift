import ServiceLifecycle
import Synchronization

/// The phase of the server's life: starting, ready or draining.
package final class LifecycleState: Sendable {
    /// The phases, in their order.
    enum Phase: Int, Sendable {
        /// Not all listeners accept connections yet.
        case starting
        /// All listeners accept connections.
        case ready
        /// Shutdown has begun. Requests are still answered, but load balancers should send no more of them.
        case draining
    }

    private let value = Atomic<Int>(Phase.starting.rawValue)
    /// Time of the start on the system's monotonic clock, even if the services use another clock.
    let startedAt = ContinuousClock.now

    package init() {}

    var phase: Phase { Phase(rawValue: value.load(ordering: .acquiring)) ?? .draining }

    /// Sets the phase to ready, when all listeners accept connections. Has no effect if shutdown has begun before.
    func setReady() {
        _ = value.compareExchange(
            expected: Phase.starting.rawValue, desired: Phase.ready.rawValue, ordering: .acquiringAndReleasing)
    }

    func setDraining() { value.store(Phase.draining.rawValue, ordering: .releasing) }
}

/// Delays a graceful shutdown. It first sets the phase to draining, so that `/readyz` fails, and lets the other
/// services stop after a delay in which load balancers notice.
struct DrainService: Service {
    let state: LifecycleState
    /// Returns the delay (`operations.drainSeconds`).
    let time: @Sendable () -> Duration
    /// Called after the delay; then the listeners close.
    let onEnd: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        state.setDraining()
        let time = time()
        if time > .zero { try? await Task.sleep(for: time) }
        onEnd()
    }
}
