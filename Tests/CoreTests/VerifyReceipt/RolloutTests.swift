import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Gradual switch to another source")
struct RolloutTests {
    private func identifiers(_ numbers: some Sequence<Int>) -> [TransactionIdentifier] {
        numbers.compactMap { TransactionIdentifier(rawValue: "\($0)") }
    }

    // MARK: - Share

    @Test("A higher percentage only adds customers, and the share is about as large as configured")
    func share() {
        let customers = identifiers(2_000_000_000_000..<2_000_000_010_000)
        var included: Set<TransactionIdentifier> = []
        for percent in [0, 0.1, 1, 5, 20, 50, 99.9, 100] {
            let now = Set(customers.filter { RolloutShare.includes($0, percent: percent) })
            #expect(now.isSuperset(of: included))
            #expect(abs(Double(now.count) / 100 - percent) < 1.5, "\(percent): \(now.count)")
            included = now
        }
        #expect(included.count == customers.count)
        #expect(customers.filter { RolloutShare.includes($0, percent: 0) }.isEmpty)
    }

    @Test("The position of a customer never changes")
    func position() throws {
        let positions = identifiers([1_000_000_123, 2_000_000_456, 430_001_234_567_890]).map {
            Int(RolloutShare.position(of: $0) * 1_000)
        }
        #expect(positions == [91_888, 77_424, 5_640])
    }

    // MARK: - State

    struct Case: Sendable, CustomTestStringConvertible {
        let compared: Int64
        let different: Int64
        let stopAt: Double
        let stops: Bool

        init(_ different: Int64, of compared: Int64, stopAt: Double, _ stops: Bool) {
            (self.compared, self.different, self.stopAt, self.stops) = (compared, different, stopAt, stops)
        }

        var testDescription: String { "\(different) of \(compared), stopAt \(stopAt)" }
    }

    @Test(
        "A rollout stops when more than stopAt percent of at least 20 customers differ",
        arguments: [
            Case(0, of: 0, stopAt: 0, false), Case(19, of: 19, stopAt: 0.5, false), Case(0, of: 20, stopAt: 0, false),
            Case(1, of: 20, stopAt: 0.5, true), Case(1, of: 20, stopAt: 5, false), Case(2, of: 20, stopAt: 5, true),
            Case(1, of: 200, stopAt: 0.5, false), Case(1, of: 199, stopAt: 0.5, true),
            Case(50, of: 10_000, stopAt: 0.5, false), Case(51, of: 10_000, stopAt: 0.5, true),
            Case(20, of: 20, stopAt: 100, false),
        ])
    func stops(row: Case) {
        var state = RolloutState(RolloutConfiguration(source: .api, percent: 5, stopAt: row.stopAt))
        state.stored = StoredRollout(startedAt: SharedSimulator.noon, compared: row.compared, different: row.different)
        #expect(state.mustStop == row.stops)
    }

    @Test("The share is 0 before the store was read, while it cannot be read, and after a stop")
    func phases() {
        var state = RolloutState(RolloutConfiguration(source: .api, percent: 5, stopAt: 0.5))
        #expect(state.phase == .starting && state.percent == 0)
        state.stored = StoredRollout(startedAt: SharedSimulator.noon)
        #expect(state.phase == .unknown && state.percent == 0)
        state.isCurrent = true
        #expect(state.phase == .running && state.percent == 5)
        state.stored?.stoppedAt = SharedSimulator.noon
        #expect(state.phase == .stopped && state.percent == 0 && !state.mustStop)
    }

    @Test("At most 100 responses of a source that is not proven wait for their comparison")
    func room() {
        var state = RolloutState(RolloutConfiguration(source: .api, percent: 5, stopAt: 0.5))
        state.stored = StoredRollout(startedAt: SharedSimulator.noon, compared: 19)
        state.unjudged = 99
        #expect(state.hasRoom)
        state.unjudged = 100
        #expect(!state.hasRoom)
        state.stored?.compared = 20
        #expect(state.hasRoom)
    }

    // MARK: - Several servers

    private struct Servers {
        let folder: TemporaryFolder
        let store: SQLiteStore
        let app: BundleIdentifier
        let first = RolloutRegistry()
        let second = RolloutRegistry()
        var rollout = RolloutConfiguration(source: .api, percent: 100, stopAt: 0.5)

        init() throws {
            folder = try TemporaryFolder()
            store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            app = try #require(BundleIdentifier(rawValue: "com.example.app"))
            configure()
        }

        func configure() {
            var settings = ProxyConfiguration()
            var configuration = AppConfiguration(bundleId: app)
            configuration.rollout = rollout
            settings.apps = [configuration]
            for registry in [first, second] { registry.apply(settings) }
        }

        func compare(_ digests: some Sequence<Int64>, isDifferent: Bool = false, on registry: RolloutRegistry) {
            for digest in digests {
                registry.willCompare(app, rollout)
                registry.compared(digest, in: "Production", of: app, rollout, isDifferent: isDifferent)
            }
        }

        /// Phase, compared and different customers, and responses whose comparison is not in the store.
        func synchronize(_ registry: RolloutRegistry) async throws -> String {
            _ = try await registry.synchronize(app, with: store.comparisons, at: SharedSimulator.noon)
            let state = try #require(registry.states[app])
            let stored = state.stored.map { "\($0.compared) \($0.different)" } ?? "-"
            return "\(state.phase.rawValue) \(stored), \(state.unjudged) unjudged"
        }
    }

    @Test("Two servers count each customer once, and a stop by one counts for both and after a restart")
    func servers() async throws {
        var servers = try Servers()
        #expect(servers.first.states[servers.app]?.phase == .starting)
        servers.compare(1...15, on: servers.first)
        servers.compare(10...19, on: servers.second)
        #expect(try await servers.synchronize(servers.first) == "running 15 0, 0 unjudged")
        #expect(try await servers.synchronize(servers.second) == "running 19 0, 0 unjudged")
        servers.compare([3, 3, 3], isDifferent: true, on: servers.second)
        #expect(try await servers.synchronize(servers.second) == "running 19 1, 0 unjudged")
        servers.compare([20], on: servers.first)
        #expect(try await servers.synchronize(servers.first) == "stopped 20 1, 0 unjudged")
        #expect(try await servers.synchronize(servers.second) == "stopped 20 1, 0 unjudged")

        let restarted = RolloutRegistry()
        var settings = ProxyConfiguration()
        settings.apps = [AppConfiguration(bundleId: servers.app)]
        settings.apps[0].rollout = servers.rollout
        restarted.apply(settings)
        #expect(try await servers.synchronize(restarted) == "stopped 20 1, 0 unjudged")

        servers.rollout.percent = 50
        servers.configure()
        #expect(try await servers.synchronize(servers.first) == "running 0 0, 0 unjudged")
        #expect(try await servers.synchronize(servers.second) == "running 0 0, 0 unjudged")
    }

    @Test("A comparison that failed counts no customer, and results of a previous block do not count for the next")
    func others() async throws {
        var servers = try Servers()
        servers.first.willCompare(servers.app, servers.rollout)
        #expect(try await servers.synchronize(servers.first) == "running 0 0, 1 unjudged")
        servers.first.cannotCompare(servers.app, servers.rollout)
        #expect(try await servers.synchronize(servers.first) == "running 0 0, 0 unjudged")
        let previous = servers.rollout
        servers.rollout.percent = 10
        servers.configure()
        servers.first.compared(1, in: "Production", of: servers.app, previous, isDifferent: true)
        #expect(try await servers.synchronize(servers.first) == "running 0 0, 0 unjudged")
    }

    @Test("What was compared while the store failed is counted later")
    func outage() async throws {
        let servers = try Servers()
        #expect(try await servers.synchronize(servers.first) == "running 0 0, 0 unjudged")
        servers.compare(1...3, isDifferent: true, on: servers.first)
        let broken = try SQLiteStore(path: servers.folder.path("other.sqlite"))
        await broken.close()
        await #expect(throws: StorageError.self) {
            _ = try await servers.first.synchronize(servers.app, with: broken.comparisons, at: SharedSimulator.noon)
        }
        #expect(servers.first.states[servers.app]?.unjudged == 3)
        #expect(try await servers.synchronize(servers.first) == "running 3 3, 0 unjudged")
    }
}
