import Base
import Storage
import Testing

@Suite("Rollouts in the store")
struct RolloutStoreTests {
    private func key(_ block: String = "api 5.0 0.5", on stage: StoreStage) -> RolloutKey {
        RolloutKey(bundleId: stage.scope.bundleId, block: block)
    }

    private func customers(_ digests: some Sequence<Int64>, isDifferent: Bool = false) -> [RolloutCustomer] {
        digests.map { RolloutCustomer(environment: "Production", digest: $0, isDifferent: isDifferent) }
    }

    /// Compared and different customers, and whether the rollout has stopped. For example, `3 1`, or `3 1 stopped`.
    private func summary(_ rollout: StoredRollout) -> String {
        "\(rollout.compared) \(rollout.different)\(rollout.stoppedAt == nil ? "" : " stopped")"
    }

    private let noon = Timestamp(milliseconds: 43_200_000)

    @Test(
        "A rollout starts once, stops once, and another block is another rollout", arguments: StoreTestEngine.available)
    func stop(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let first = try await stage.store.rollouts.rollout(key(on: stage), at: noon)
        #expect(summary(first) == "0 0")
        let stopped = try await stage.store.rollouts.stop(key(on: stage), at: noon)
        let reopened = try await stage.reopened()
        let later = noon.advanced(by: .seconds(5))
        #expect(try await reopened.rollouts.rollout(key(on: stage), at: later) == stopped)
        #expect(try await reopened.rollouts.stop(key(on: stage), at: later) == stopped)
        #expect(stopped.startedAt == first.startedAt && stopped.stoppedAt != nil)
        #expect(summary(try await reopened.rollouts.rollout(key("api 6.0 0.5", on: stage), at: later)) == "0 0")
    }

    @Test(
        "A customer is counted once over servers and restarts, and stays different",
        arguments: StoreTestEngine.available)
    func once(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        func add(_ customers: [RolloutCustomer], to store: any Store) async throws -> String {
            summary(try await store.rollouts.add(customers, to: key(on: stage), limit: 100, at: noon))
        }
        #expect(try await add(customers([1, 2, 2]), to: stage.store) == "2 0")
        let second = engine == .postgresql ? try await stage.second() : stage.store
        #expect(try await add(customers([2, 3], isDifferent: true), to: second) == "3 2")
        #expect(try await add(customers([1, 2, 3, 4]) + customers([4], isDifferent: true), to: stage.store) == "4 3")
        // The same digest in another environment is another customer.
        let sandbox = RolloutCustomer(environment: "Sandbox", digest: 1, isDifferent: false)
        #expect(try await add([sandbox], to: stage.store) == "5 3")
        let reopened = try await stage.reopened()
        #expect(try await add(customers([3]), to: reopened) == "5 3")
        #expect(try await add([], to: reopened) == "5 3")
    }

    @Test("Two servers that add at the same time count the customers of both", arguments: StoreTestEngine.available)
    func atTheSameTime(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let second = engine == .postgresql ? try await stage.second() : stage.store
        let counts = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<20 as Range<Int64> {
                let (store, key) = (number % 2 == 0 ? stage.store : second, key(on: stage))
                let added = customers(number..<number + 5, isDifferent: number % 2 == 0)
                group.addTask { try await store.rollouts.add(added, to: key, limit: 100, at: noon).compared }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // Each addition counted what was there before it, so the last one counted everything.
        #expect(counts.max() == 24)
        #expect(summary(try await stage.store.rollouts.rollout(key(on: stage), at: noon)) == "24 23")
    }

    @Test("Only the customers compared last are kept and counted", arguments: StoreTestEngine.available)
    func bounded(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        func add(_ customers: [RolloutCustomer], at minute: Int64) async throws -> String {
            summary(
                try await stage.store.rollouts.add(
                    customers, to: key(on: stage), limit: 5, at: noon.advanced(by: .minutes(minute))))
        }
        #expect(try await add(customers(1...4, isDifferent: true), at: 1) == "4 4")
        #expect(try await add(customers([1]), at: 2) == "4 4")
        #expect(try await add(customers(5...7), at: 3) == "5 2")
        #expect(try await add(customers(8...12), at: 4) == "5 0")
    }
}
