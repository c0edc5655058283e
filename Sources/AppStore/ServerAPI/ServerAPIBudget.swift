package import StoreTypes
import Synchronization

/// The budgets of one app: one for each endpoint and environment.
///
/// Apple limits each app by itself: an app has one of these, and all who call for it share it. It is told the time, which
/// must be one and the same for all of them: `AppStoreClock.uptime`.
package final class ServerAPIBudget: Sendable {
    private struct Key: Hashable {
        let endpoint: ServerAPIEndpoint
        let environment: AppStoreEnvironment
    }

    private let share: Double
    private let reserve: Double
    private let buckets = Mutex<[Key: HourlyBudget]>([:])
    /// What the shadow may use of each bucket, counted beside it.
    private let backgroundBudgets = Mutex<[Key: HourlyBudget]>([:])
    private let granted = Atomic<Int64>(0)
    /// Calls that wait for a rate limit, by the times at which they go on.
    private let waits = Mutex<[Duration: Int]>([:])

    /// Calls that were granted, to all endpoints together.
    package var calls: Int64 { granted.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - share: the part of Apple's limits to use, above 0 and at most 1.
    ///   - reserve: the part of each bucket that is live traffic's alone.
    package init(share: Double = 1, reserve: Double = 0.3) {
        self.share = share.isFinite ? min(max(share, 0), 1) : 1
        self.reserve = reserve
    }

    /// Asks for one call.
    package func consume(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority,
        at now: Duration
    ) -> HourlyBudget.Verdict {
        if priority == .background {
            // Asked without taking: a copy pays.
            var own = background(endpoint, environment, at: now)
            guard case .granted = own.consume(.live, at: now) else { return own.consume(.live, at: now) }
        }
        let verdict = change(endpoint, environment, now) { $0.consume(priority, at: now) }
        guard case .granted = verdict else { return verdict }
        granted.add(1, ordering: .relaxed)
        if priority == .background { chargeBackground(endpoint, environment, at: now) }
        return verdict
    }

    /// The part of Apple's limits that shadows may use.
    package static let backgroundShare = 0.2

    private func background(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, at now: Duration
    ) -> HourlyBudget {
        let calls = Int64(Double(Self.limit(endpoint, environment)) * share * Self.backgroundShare)
        let key = Key(endpoint: endpoint, environment: environment)
        return backgroundBudgets.withLock { $0[key] } ?? HourlyBudget(callsPerHour: calls, reserve: 0, now: now)
    }

    private func chargeBackground(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, at now: Duration
    ) {
        let full = background(endpoint, environment, at: now)
        backgroundBudgets.withLock { shadows in
            _ = shadows[Key(endpoint: endpoint, environment: environment), default: full].consume(.live, at: now)
        }
    }

    /// Calls an hour that Apple allows; the sandbox a tenth.
    private static func limit(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment) -> Int64 {
        Int64(endpoint.requestsPerSecond * 3_600) / (environment == .production ? 1 : 10)
    }

    /// A call waits for a rate limit, ours or Apple's, until then; ``endWait(until:)`` must follow.
    func beginWait(until instant: Duration) { waits.withLock { $0[instant, default: 0] += 1 } }

    func endWait(until instant: Duration) {
        waits.withLock { waits in
            let left = (waits[instant] ?? 0) - 1
            waits[instant] = left > 0 ? left : nil
        }
    }

    /// How long until the first of the waiting calls goes on; nil if no call waits.
    package func wait(at now: Duration) -> Duration? {
        waits.withLock { $0.keys.min() }.map { max($0 - now, .zero) }
    }

    /// Apple refused a call: none until then.
    package func pause(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, for pause: Duration, at now: Duration
    ) {
        change(endpoint, environment, now) { $0.pause(until: now + pause) }
    }

    /// Whole calls that are left; all of them in a bucket that nobody asked yet.
    package func left(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority,
        at now: Duration
    ) -> Int64 {
        change(endpoint, environment, now) { $0.left(for: priority, at: now) }
    }

    /// Whole calls to an endpoint that are left, in the environment that has fewer; nil where nobody asked any yet.
    package func left(
        _ endpoint: ServerAPIEndpoint, _ priority: HourlyBudget.Priority, at now: Duration
    ) -> Int64? {
        let asked = buckets.withLock { buckets in
            [AppStoreEnvironment.production, .sandbox].filter {
                buckets[Key(endpoint: endpoint, environment: $0)] != nil
            }
        }
        return asked.map { left(endpoint, $0, priority, at: now) }.min()
    }

    /// What is left of one bucket.
    package struct Level: Sendable, Hashable {
        package let endpoint: ServerAPIEndpoint
        package let environment: AppStoreEnvironment
        /// Whole calls, for those who have somebody waiting.
        package let left: Int64
        /// Calls an hour.
        package let limit: Int64
    }

    /// Of all buckets that were ever asked, in order.
    package func levels(at now: Duration) -> [Level] {
        buckets.withLock { buckets in
            buckets.map { key, bucket in
                var bucket = bucket
                return Level(
                    endpoint: key.endpoint, environment: key.environment, left: bucket.left(for: .live, at: now),
                    limit: bucket.callsPerHour)
            }
        }.sorted { ($0.endpoint.name, $0.environment.rawValue) < ($1.endpoint.name, $1.environment.rawValue) }
    }

    private func change<Result: Sendable>(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ now: Duration,
        _ body: (inout HourlyBudget) -> Result
    ) -> Result {
        let limit = Self.limit(endpoint, environment)
        let full = HourlyBudget(callsPerHour: Int64(Double(limit) * share), reserve: reserve, now: now)
        let key = Key(endpoint: endpoint, environment: environment)
        return buckets.withLock { body(&$0[key, default: full]) }
    }
}
