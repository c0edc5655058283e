import ServiceLifecycle

/// Delays a graceful shutdown. It first sets the phase to draining, so that `/readyz` fails, and lets the other
/// services stop after a delay in which load balancers notice.
struct DrainService: Service {
    let state: LifecycleState
    /// Returns the delay (`operations.drainSeconds`).
    let time: @Sendable () -> Duration
    /// Called after the delay; then the listeners close.
    let onEnd: @Sendable () -> Void

    /// Waits for shutdown, then for the delay.
    func run() async throws {
        try? await gracefulShutdown()
        state.setDraining()
        let time = time()
        if time > .zero { try? await Task.sleep(for: time) }
        onEnd()
    }
}
