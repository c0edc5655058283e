package import ReceiptBridgeBase
import Synchronization

/// The rate limits of one app: an hourly budget for each endpoint and environment.
///
/// Apple limits each app separately, so each app has one instance that all its callers share. The caller passes the
/// time, which must always come from the same clock: `AppStoreClock.uptime`.
package final class ServerAPIBudget: Sendable {
    struct Key: Hashable, Sendable {
        let endpoint: ServerAPIEndpoint
        let environment: AppStoreEnvironment

        /// Apple's limit in calls per hour. The sandbox allows a tenth of production.
        var limit: Int64 { Int64(endpoint.requestsPerSecond * 3_600) / (environment == .production ? 1 : 10) }
    }

    private let share: Double
    private let reserve: Double
    /// The buckets that other servers use too; `nil` if this process alone makes calls for the app.
    let shared: (any SharedCallBudget)?
    let leased = Mutex<[LeaseKey: LeasedCalls]>([:])
    /// Merges the requests of concurrent callers to a shared bucket.
    let refills = SingleFlight<LeaseKey, Refill, Never>()
    /// The numbers of calls in the shared buckets, as last seen.
    private let sharedLeft = Mutex<[Key: Int64]>([:])
    private let buckets = Mutex<[Key: HourlyBudget]>([:])
    /// The part of each bucket that background calls may use, counted in addition to the main bucket.
    private let backgroundBudgets = Mutex<[Key: HourlyBudget]>([:])
    private let granted = Atomic<Int64>(0)
    /// The number of calls that wait for a rate limit, by the time at which they resume.
    private let waits = Mutex<[WaitEnd: Int]>([:])

    package var calls: Int64 { granted.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - share: The share of Apple's limits that this process uses, above 0 and at most 1.
    ///   - reserve: The share of each bucket of this process that is reserved for live calls.
    ///   - shared: The buckets that other processes use too; `nil` if this process alone makes calls for the app.
    package init(share: Double = 1, reserve: Double = liveReserve, shared: (any SharedCallBudget)? = nil) {
        self.share = share.isFinite ? min(max(share, 0), 1) : 1
        self.reserve = reserve
        self.shared = shared
    }

    package static let liveReserve = 0.3

    package func consume(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority,
        at now: Duration
    ) -> HourlyBudget.BudgetDecision {
        consume(Key(endpoint: endpoint, environment: environment), priority, at: now)
    }

    func consume(_ key: Key, _ priority: HourlyBudget.Priority, at now: Duration) -> HourlyBudget.BudgetDecision {
        if priority == .background, let wait = backgroundWait(key, at: now) { return .wait(wait) }
        let decision = change(key, now) { $0.consume(priority, at: now) }
        guard case .granted = decision else { return decision }
        granted.add(1, ordering: .relaxed)
        if priority == .background { chargeBackground(key, at: now) }
        return decision
    }

    /// Counts a call that was taken from the shared bucket.
    func recordShared(_ key: Key, _ priority: HourlyBudget.Priority, at now: Duration) {
        granted.add(1, ordering: .relaxed)
        // This server's part of the limits, which counts if the store cannot be reached.
        change(key, now) { _ = $0.consume(.live, at: now) }
        if priority == .background { chargeBackground(key, at: now) }
    }

    /// Returns how long the bucket is still blocked by ``pause(_:_:for:at:)``; `nil` if it is not.
    func pauseLeft(_ key: Key, at now: Duration) -> Duration? { change(key, now) { $0.pauseLeft(at: now) } }

    func setSharedLeft(_ left: Int64, of key: Key) { sharedLeft.withLock { $0[key] = left } }

    /// The calls per hour that this process may make, unless other processes make them.
    private func callsPerHour(_ key: Key) -> Int64 { Int64(Double(key.limit) * share) }

    /// Returns the time until a call does not exceed the share of the limits that this process uses; `nil` if it does
    /// not now. A server uses all that is left by the others.
    func shareWait(_ key: Key, at now: Duration) -> Duration? {
        guard share < 1 else { return nil }
        return change(key, now) { bucket in
            // Checked on a copy, because the shared bucket may still reject the call.
            var copy = bucket
            guard case .wait(let wait) = copy.consume(.live, at: now) else { return nil }
            return wait
        }
    }

    /// The part of the limits that this server may use if the store cannot be reached: at least a sixteenth.
    private var ownPart: Int64 { Int64(min(max(shared?.servers ?? 1, 1), 16)) }

    /// Returns the time until a background call is allowed by the background budget; `nil` if it is now.
    func backgroundWait(_ key: Key, at now: Duration) -> Duration? {
        // Checked on a copy, because the call may still be rejected by the main bucket.
        var own = background(key, at: now)
        guard case .wait(let wait) = own.consume(.live, at: now) else { return nil }
        return wait
    }

    static let backgroundShare = 0.2

    /// Returns a copy of the background budget, which is full if it was never used.
    private func background(_ key: Key, at now: Duration) -> HourlyBudget {
        let calls = Int64(Double(callsPerHour(key) / ownPart) * Self.backgroundShare)
        return backgroundBudgets.withLock { $0[key] } ?? HourlyBudget(callsPerHour: calls, reserve: 0, now: now)
    }

    private func chargeBackground(_ key: Key, at now: Duration) {
        let full = background(key, at: now)
        backgroundBudgets.withLock { _ = $0[key, default: full].consume(.live, at: now) }
    }

    struct WaitEnd: Hashable {
        let key: Key
        let instant: Duration
        /// `true` if Apple returned 429 and named the time.
        let isNamedByApple: Bool
    }

    /// Records that a call waits until the given time for a rate limit, ours or Apple's. ``endWait(until:)`` must
    /// follow.
    func beginWait(until end: WaitEnd) { waits.withLock { $0[end, default: 0] += 1 } }

    /// Ends a wait that ``beginWait(until:)`` recorded with the same end.
    func endWait(until end: WaitEnd) {
        waits.withLock { waits in
            let left = (waits[end] ?? 0) - 1
            waits[end] = left > 0 ? left : nil
        }
    }

    /// The wait of the call that resumes first; `nil` if no call is waiting.
    package func wait(at now: Duration) -> RateLimitWait? {
        waits.withLock { $0.keys.min { $0.instant < $1.instant } }.map {
            RateLimitWait(left: max($0.instant - now, .zero), isNamedByApple: $0.isNamedByApple)
        }
    }

    /// Blocks all calls to an endpoint, because Apple returned 429 with `Retry-After`.
    package func pause(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, for pause: Duration, at now: Duration
    ) {
        change(Key(endpoint: endpoint, environment: environment), now) { $0.pause(until: now + pause) }
        if let shared { Task { await shared.pause(endpoint, environment, for: pause) } }
    }

    /// The number of whole calls left. A bucket that was never used is full.
    package func left(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority,
        at now: Duration
    ) -> Int64 {
        change(Key(endpoint: endpoint, environment: environment), now) { $0.left(for: priority, at: now) }
    }

    /// The number of whole calls to an endpoint left, in the environment that has fewer. `nil` if the endpoint was
    /// never used.
    package func left(_ endpoint: ServerAPIEndpoint, _ priority: HourlyBudget.Priority, at now: Duration) -> Int64? {
        let used = buckets.withLock { buckets in
            [AppStoreEnvironment.production, .sandbox].filter {
                buckets[Key(endpoint: endpoint, environment: $0)] != nil
            }
        }
        return used.map { left(endpoint, $0, priority, at: now) }.min()
    }

    /// The fill level of one bucket, for metrics and the status page.
    package struct Level: Sendable, Hashable {
        package let endpoint: ServerAPIEndpoint
        package let environment: AppStoreEnvironment
        /// The number of whole calls left for live calls.
        package let left: Int64
        /// The limit in calls per hour.
        package let limit: Int64
        /// How long the next of the waiting calls has to wait; `nil` if none waits.
        package let wait: Duration?
    }

    /// The levels of all buckets used so far, sorted by endpoint and environment.
    package func levels(at now: Duration) -> [Level] {
        let sharedLeft = sharedLeft.withLock { $0 }
        let ends = Dictionary(grouping: waits.withLock(\.keys), by: \.key).mapValues { $0.map(\.instant).min() ?? now }
        return buckets.withLock { buckets in
            buckets.map { key, bucket in
                var bucket = bucket
                let own = bucket.left(for: .live, at: now)
                return Level(
                    endpoint: key.endpoint, environment: key.environment, left: sharedLeft[key] ?? own,
                    limit: shared == nil ? bucket.callsPerHour : callsPerHour(key),
                    wait: ends[key].map { max($0 - now, .zero) })
            }
        }.sorted { ($0.endpoint.name, $0.environment.rawValue) < ($1.endpoint.name, $1.environment.rawValue) }
    }

    /// Changes one bucket under the lock, which is created full if it was never used.
    private func change<Result: Sendable>(
        _ key: Key, _ now: Duration, _ body: (inout HourlyBudget) -> Result
    ) -> Result {
        let calls = callsPerHour(key) / ownPart
        let full = HourlyBudget(callsPerHour: calls, reserve: reserve, now: now)
        return buckets.withLock { buckets in
            if shared != nil { buckets[key]?.callsPerHour = calls }
            return body(&buckets[key, default: full])
        }
    }
}
