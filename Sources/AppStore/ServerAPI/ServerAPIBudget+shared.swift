package import ReceiptBridgeBase
import Synchronization

/// Calls from buckets that several servers and commands share. Each process takes several calls at once and makes them
/// one by one, so that most calls need no exchange with the store. If the store cannot be reached, each server uses its
/// part of the limits, and each command its share.
extension ServerAPIBudget {
    /// Calls that this server has taken from a shared bucket and not made yet.
    struct LeasedCalls: Sendable {
        var count: Int64
        /// When the calls expire, so that a server does not collect them.
        var until: Duration
    }

    struct LeaseKey: Hashable, Sendable {
        let bucket: Key
        /// Live calls may use the reserve of a bucket, so the calls taken for them are not used for others.
        let isLive: Bool
    }

    enum Refill: Sendable {
        case taken
        case wait(Duration)
        case unreachable
    }

    private static let leaseTime = Duration.seconds(60)
    /// Maximum number of calls that are taken at once: for live calls, and for batch work.
    private static let maximumLease: (live: Int64, batch: Int64) = (20, 50)
    /// The number of times per hour that a server alone takes calls: every 0.4 seconds for live calls, every second for
    /// batch work.
    private static let leasesPerHour: (live: Int64, batch: Int64) = (9_000, 3_600)
    private static let refillTimeLimit = Duration.seconds(1)

    package func take(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ priority: HourlyBudget.Priority,
        at now: Duration
    ) async -> HourlyBudget.BudgetDecision {
        let bucket = Key(endpoint: endpoint, environment: environment)
        guard let shared else { return consume(bucket, priority, at: now) }
        if priority == .background, let wait = backgroundWait(bucket, at: now) { return .wait(wait) }
        let key = LeaseKey(bucket: bucket, isLive: priority == .live)
        while true {
            if let wait = pauseLeft(bucket, at: now) ?? shareWait(bucket, at: now) { return .wait(wait) }
            if takeLeased(key, at: now) {
                recordShared(bucket, priority, at: now)
                return .granted
            }
            let refill = await refills.value(for: key, within: Self.refillTimeLimit) {
                await self.refill(key, from: shared, at: now)
            }
            switch refill {
            case .taken?: continue
            case .wait(let wait)?: return .wait(wait)
            case .unreachable?, nil: return consume(bucket, priority, at: now)
            }
        }
    }

    package func giveBack() async {
        guard let shared else { return }
        let unused = leased.withLock { leased in
            defer { leased = [:] }
            return leased
        }
        for (key, calls) in unused where calls.count > 0 {
            await shared.giveBack(calls.count, of: key.bucket.endpoint, key.bucket.environment)
        }
    }

    private func takeLeased(_ key: LeaseKey, at now: Duration) -> Bool {
        leased.withLock { leased in
            guard let calls = leased[key], calls.count > 0, calls.until > now else { return false }
            leased[key]?.count -= 1
            return true
        }
    }

    private func refill(_ key: LeaseKey, from shared: any SharedCallBudget, at now: Duration) async -> Refill {
        let (bucket, calls) = (key.bucket, key.bucket.limit)
        let maximum = key.isLive ? Self.maximumLease.live : Self.maximumLease.batch
        let leases = key.isLive ? Self.leasesPerHour.live : Self.leasesPerHour.batch
        let grant = await shared.take(
            min(max(calls / leases, 1), maximum), of: bucket.endpoint, bucket.environment, callsPerHour: calls,
            reserved: key.isLive ? 0 : Int64(Double(calls) * Self.liveReserve))
        guard let grant else { return .unreachable }
        setSharedLeft(grant.left, of: bucket)
        guard grant.count > 0 else { return .wait(max(grant.wait, .milliseconds(1))) }
        leased.withLock { leased in
            let before = leased[key].map { $0.until > now ? $0.count : 0 } ?? 0
            leased[key] = LeasedCalls(count: before + grant.count, until: now + Self.leaseTime)
        }
        return .taken
    }
}
