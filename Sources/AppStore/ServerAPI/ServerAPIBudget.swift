package import StoreTypes
import Synchronization

/// The budgets of one app: one for each endpoint and environment.
///
/// Apple limits each app by itself: an app has one of these, and all who call for it share it.
package final class ServerAPIBudget: Sendable {
    private struct Key: Hashable {
        let endpoint: ServerAPIEndpoint
        let environment: AppStoreEnvironment
    }

    private let share: Double
    private let reserve: Double
    private let uptime: @Sendable () -> Duration
    private let buckets = Mutex<[Key: HourlyBudget]>([:])

    /// - Parameters:
    ///   - share: the part of Apple's limits to use, above 0 and at most 1.
    ///   - reserve: the part of each bucket that is live traffic's alone.
    ///   - uptime: the time, from any beginning.
    package init(
        share: Double = 1, reserve: Double = 0.3, uptime: @escaping @Sendable () -> Duration = AppStoreClock.system.uptime
    ) {
        self.share = share.isFinite ? min(max(share, 0), 1) : 1
        self.reserve = reserve
        self.uptime = uptime
    }

    /// Asks for one call.
    package func take(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority
    ) -> HourlyBudget.Verdict {
        change(endpoint, environment) { $0.take(priority, at: $1) }
    }

    /// Apple refused a call: none for so long.
    package func pause(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, for pause: Duration) {
        change(endpoint, environment) { $0.pause(until: $1 + pause) }
    }

    /// Whole calls that are left; those of a bucket nobody asked yet as well.
    package func left(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority
    ) -> Int64 {
        change(endpoint, environment) { bucket, _ in bucket.left(for: priority) }
    }

    private func change<Result: Sendable>(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment,
        _ body: (inout HourlyBudget, Duration) -> Result
    ) -> Result {
        let now = uptime()
        let limit = Int64(endpoint.requestsPerSecond * 3_600) / (environment == .production ? 1 : 10)
        let fresh = HourlyBudget(callsPerHour: Int64(Double(limit) * share), reserve: reserve, now: now)
        let key = Key(endpoint: endpoint, environment: environment)
        return buckets.withLock { buckets in body(&buckets[key, default: fresh], now) }
    }
}
