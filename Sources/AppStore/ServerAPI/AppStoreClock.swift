package import ReceiptBridgeBase

/// The clock used for the App Store: time of day, uptime and sleeping. A parameter, so that tests do not have to
/// wait.
package struct AppStoreClock: Sendable {
    package let now: @Sendable () -> Timestamp
    /// Returns a monotonic time with an arbitrary start, for deadlines and budgets.
    package let uptime: @Sendable () -> Duration
    package let sleep: @Sendable (Duration) async throws -> Void

    package init(
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        (self.now, self.uptime, self.sleep) = (now, uptime, sleep)
    }

    package static let system: AppStoreClock = {
        let clock = ContinuousClock()
        let start = clock.now
        return AppStoreClock(
            now: { .now }, uptime: { start.duration(to: clock.now) },
            sleep: { try await Task.sleep(for: $0) })
    }()
}
