import ReceiptBridgeBase
import ReceiptBridgeStorage
import Testing

@Suite("Rollouts in the store")
struct RolloutStoreTests {
    private func key(_ block: String = "api 5.0 0.5", on stage: StoreStage) -> RolloutKey {
        RolloutKey(bundleId: stage.scope.bundleId, block: block)
    }

    /// Adds compared customers of a rollout, or of none.
    private func add(
        _ digests: some Sequence<Int64>, different: Set<Int64> = [], to block: String? = "api 5.0 0.5", day: Int64 = 1,
        environment: String = "Production", limit: Int = 100, in store: any Store, of stage: StoreStage
    ) async throws {
        try await store.comparisons.add(
            comparisons: [], differences: [],
            customers: [
                ComparedCustomers(
                    day: day, bundleId: stage.scope.bundleId.rawValue, environment: environment,
                    digests: Array(digests), block: block, different: different)
            ], limit: limit)
    }

    private func counts(_ block: String = "api 5.0 0.5", in store: any Store, of stage: StoreStage) async throws
        -> String
    {
        summary(try await store.comparisons.rollout(key(block, on: stage), at: noon))
    }

    /// Compared and different customers, and whether the rollout has stopped. For example, `3 1`, or `3 1 stopped`.
    private func summary(_ rollout: StoredRollout) -> String {
        "\(rollout.compared) \(rollout.different)\(rollout.stoppedAt == nil ? "" : " stopped")"
    }

    private let noon = Timestamp(milliseconds: 43_200_000)

    @Test("A rollout starts once, stops once, and another block is another rollout", arguments: engines)
    func stop(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let first = try await stage.store.comparisons.rollout(key(on: stage), at: noon)
        #expect(summary(first) == "0 0")
        let stopped = try await stage.store.comparisons.stop(key(on: stage), at: noon)
        let reopened = try await stage.reopened()
        let later = noon.advanced(by: .seconds(5))
        #expect(try await reopened.comparisons.rollout(key(on: stage), at: later) == stopped)
        #expect(try await reopened.comparisons.stop(key(on: stage), at: later) == stopped)
        #expect(stopped.startedAt == first.startedAt && stopped.stoppedAt != nil)
        #expect(summary(try await reopened.comparisons.rollout(key("api 6.0 0.5", on: stage), at: later)) == "0 0")
    }

    @Test("A stopped rollout keeps its counts, whatever is compared later", arguments: engines)
    func counts(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await add(1...3, different: [3], in: stage.store, of: stage)
        #expect(try await counts(in: stage.store, of: stage) == "3 1")
        #expect(summary(try await stage.store.comparisons.stop(key(on: stage), at: noon)) == "3 1 stopped")
        try await add(2...9, different: [2], to: "api 6.0 0.5", in: stage.store, of: stage)
        #expect(try await counts(in: stage.store, of: stage) == "3 1 stopped")
        #expect(try await counts("api 6.0 0.5", in: stage.store, of: stage) == "8 1")
    }

    @Test("A customer is counted once over servers and restarts, and stays different", arguments: engines)
    func once(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let second = engine == .postgresql ? try await stage.second() : stage.store
        try await add([1, 2, 2], in: stage.store, of: stage)
        #expect(try await counts(in: second, of: stage) == "2 0")
        try await add([2, 3], different: [2, 3], in: second, of: stage)
        #expect(try await counts(in: stage.store, of: stage) == "3 2")
        try await add(1...4, different: [4], in: stage.store, of: stage)
        // A comparison without a rollout changes neither.
        try await add(1...9, to: nil, in: stage.store, of: stage)
        // A customer of no rollout that differs can be compared again.
        for different in [[20], []] as [Set<Int64>] {
            try await add([20], different: different, to: nil, in: stage.store, of: stage)
        }
        #expect(try await counts(in: stage.store, of: stage) == "4 3")
        // The same digest in another environment is another customer.
        try await add([1], environment: "Sandbox", in: stage.store, of: stage)
        let reopened = try await stage.reopened()
        try await add([3], in: reopened, of: stage)
        #expect(try await counts(in: reopened, of: stage) == "5 3")
        #expect(try await reopened.comparisons.comparedCustomers(since: 0).map(\.count) == [10, 1])
    }

    @Test("A customer is counted on the last day of a comparison, also without a rollout", arguments: engines)
    func days(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        for (digests, day) in [([1, 2, 2], 10), ([1], 12), ([1, 3], 11)] as [([Int64], Int64)] {
            try await add(digests, to: nil, day: day, in: stage.store, of: stage)
        }
        for (since, count) in [(1, [3]), (11, [2]), (12, [1]), (13, [])] as [(Int64, [Int64])] {
            #expect(try await stage.store.comparisons.comparedCustomers(since: since).map(\.count) == count)
        }
    }

    @Test("Only the customers compared last are kept and counted", arguments: engines)
    func bounded(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        var found: [String] = []
        for (digests, different, day) in [
            (1...4 as ClosedRange<Int64>, Set(1...4), 1), (1...1, [], 2), (5...7, [], 3), (8...12, [], 4),
        ] as [(ClosedRange<Int64>, Set<Int64>, Int64)] {
            try await add(digests, different: different, day: day, limit: 5, in: stage.store, of: stage)
            found.append(try await counts(in: stage.store, of: stage))
        }
        #expect(found == ["4 4", "4 4", "5 2", "5 0"])
    }
}
