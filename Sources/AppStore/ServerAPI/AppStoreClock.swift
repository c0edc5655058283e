import Foundation
package import StoreTypes

/// What time it is, and waiting: a parameter, so that tests need not wait.
package struct AppStoreClock: Sendable {
    /// The time of day.
    package let now: @Sendable () -> Timestamp
    /// A time that never jumps, from any beginning: for deadlines and budgets.
    package let uptime: @Sendable () -> Duration
    /// Waits so long; throws when the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// A clock of these parts.
    package init(
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.uptime = uptime
        self.sleep = sleep
    }

    /// This machine's.
    package static let system: AppStoreClock = {
        let clock = ContinuousClock()
        let start = clock.now
        return AppStoreClock(
            now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) },
            uptime: { start.duration(to: clock.now) },
            sleep: { try await Task.sleep(for: $0) })
    }()
}
