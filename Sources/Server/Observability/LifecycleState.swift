import ServiceLifecycle
import StoreTypes
import Synchronization

/// Where the server is between its start and its end.
package final class LifecycleState: Sendable {
    enum Phase: Int, Sendable {
        /// Not all listeners take connections yet.
        case starting
        case ready
        /// Asked to stop: what comes is still answered, and nobody should send more.
        case draining
    }

    private let value = Atomic<Int>(Phase.starting.rawValue)
    /// This machine's clock, whatever clock the walks have.
    let startedAt = ContinuousClock.now

    package init() {}

    var phase: Phase { Phase(rawValue: value.load(ordering: .acquiring)) ?? .draining }

    /// All listeners take connections; nothing where it was asked to stop before that.
    func listens() {
        _ = value.compareExchange(
            expected: Phase.starting.rawValue, desired: Phase.ready.rawValue, ordering: .acquiringAndReleasing)
    }

    func drains() { value.store(Phase.draining.rawValue, ordering: .releasing) }
}

/// Says first that the server is about to end, and lets the others end when load balancers had time to notice.
struct DrainService: Service {
    let state: LifecycleState
    let time: @Sendable () -> Duration
    /// From then on the listeners close.
    let onEnd: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        state.drains()
        let time = time()
        if time > .zero { try? await Task.sleep(for: time) }
        onEnd()
    }
}
