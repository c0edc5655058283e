import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Budget that several processes share")
struct SharedBudgetTests {
    /// A bucket that never refills.
    private final class Bucket: SharedCallBudget {
        let level: Mutex<Int64>
        let isReachable: @Sendable () -> Bool
        let servers: Int

        init(level: Int64, isReachable: @autoclosure @escaping @Sendable () -> Bool = true, servers: Int = 1) {
            self.level = Mutex(level)
            self.isReachable = isReachable
            self.servers = servers
        }

        func take(
            _ count: Int64, of endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, callsPerHour: Int64,
            reserved: Int64
        ) async -> CallGrant? {
            guard isReachable() else { return nil }
            return level.withLock { level in
                let granted = max(min(count, level - reserved), 0)
                level -= granted
                return CallGrant(count: granted, left: level, wait: .seconds(60))
            }
        }

        func giveBack(_ count: Int64, of endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment) async {
            level.withLock { $0 += count }
        }

        func pause(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, for pause: Duration) async {}
    }

    /// The number of calls that are granted before one has to wait.
    private func granted(
        _ budget: ServerAPIBudget, _ priority: HourlyBudget.Priority, at now: Duration = .zero, atMost limit: Int
    ) async -> Int {
        for count in 0..<limit {
            guard case .granted = await budget.take(.history, .production, priority, at: now) else { return count }
        }
        return limit
    }

    /// Apple's limit of calls per hour.
    private static let limit: Int64 = 180_000

    /// A wait that begins in an outage of the store is that for this server's part, which may take an hour.
    @Test("A call that waits goes on within seconds after the store with the shared bucket is back")
    func back() async throws {
        let clock = ManualClock()
        let bucket = Bucket(level: 100_000, isReachable: clock.uptime >= .seconds(37), servers: 2)
        let budget = ServerAPIBudget(shared: bucket)
        while case .granted = budget.consume(.history, .production, .live, at: .zero) {}
        let api = try ScriptedServerAPI(budget: budget, clock: clock.clock) { _, _ in
            try CannedResponse.history([transaction("100", type: "Consumable")])
        }
        let options = CallOptions(priority: .batch, timeLimit: .seconds(3_600))
        #expect(await api.failure(environment: .production, options) == nil)
        #expect(clock.uptime == .seconds(38))
    }

    @Test("Concurrent servers together get what is in the bucket, and give back what they did not use")
    func together() async {
        let bucket = Bucket(level: 1_000, servers: 4)
        let budgets = (0..<4).map { _ in ServerAPIBudget(shared: bucket) }
        let total = await withTaskGroup(of: Int.self) { group in
            for budget in budgets { group.addTask { await self.granted(budget, .live, atMost: 240) } }
            return await group.reduce(0, +)
        }
        #expect(total == 960)
        for budget in budgets { await budget.giveBack() }
        #expect(bucket.level.withLock { $0 } == 40)
    }

    @Test("Batch work leaves the reserve to live calls, also that of a process without live calls")
    func reserve() async {
        let reserved = Int64(Double(Self.limit) * ServerAPIBudget.liveReserve)
        let bucket = Bucket(level: reserved + 30)
        #expect(await granted(ServerAPIBudget(reserve: 0, shared: bucket), .batch, atMost: 100) == 30)
        #expect(await granted(ServerAPIBudget(shared: bucket), .live, atMost: 100) == 100)
    }

    @Test("A command uses no more than its share, although there is more in the bucket")
    func share() async {
        let bucket = Bucket(level: Self.limit)
        let share = ServerAPIBudget(share: 0.001, reserve: 0, shared: bucket)
        #expect(await granted(share, .batch, atMost: 400) == 180)
        #expect(await granted(share, .batch, at: .seconds(3_600), atMost: 400) == 180)
    }

    @Test("Without the store, each of several servers uses its part of the limits", arguments: [1, 4, 100])
    func unreachable(servers: Int) async {
        let bucket = Bucket(level: 0, isReachable: false, servers: servers)
        let share = TestSize.pick(debug: 0.1, release: 1)
        let budget = ServerAPIBudget(share: share, shared: bucket)
        let part = Int(Double(Self.limit) * share) / min(servers, 16)
        #expect(await granted(budget, .live, atMost: part + 10) == part)
    }
}
