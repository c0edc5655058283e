import ServiceLifecycle

/// Runs work again and again until the server shuts down, and cancels it then.
struct PeriodicService: Service {
    /// The time before the first run.
    var delay = Duration.zero
    /// Returns the time until the next run.
    let work: @Sendable () async -> Duration

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = delay
            while (try? await Task.sleep(for: pause)) != nil { pause = await work() }
        }
    }
}
