import ReceiptBridgeStorage
import ReceiptBridgeTestSupport
import Testing

@Suite("Comparisons in the store")
struct ComparisonLogTests {
    private func comparison(_ outcome: String, day: Int64 = 10, count: Int64 = 1) -> ComparisonCount {
        ComparisonCount(
            day: day, bundleId: "com.example.app", environment: "Production", outcome: outcome, count: count)
    }

    private func difference(
        _ rule: String, day: Int64 = 10, count: Int64 = 1, first: Int64 = 5, last: Int64 = 5, examples: [[UInt8]] = []
    ) -> DifferenceCount {
        DifferenceCount(
            day: day, bundleId: "com.example.app", environment: "Production", verdict: "unexpected", rule: rule,
            path: "receipt.x", count: count, first: first, last: last, examples: examples)
    }

    @Test("Counts are added up by day, and a difference has three examples at most", arguments: engines)
    func counts(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let log = stage.store.comparisons
        try await log.add(
            comparisons: [comparison("equal", count: 2), comparison("different"), comparison("equal", day: 9)],
            differences: [difference("b", first: 5, last: 6, examples: [[1], [2]]), difference("a", day: 9)])
        try await log.add(
            comparisons: [comparison("equal", count: 3)],
            differences: [difference("b", count: 4, first: 1, last: 3, examples: [[3], [4], [0, 5]])])
        let (comparisons, differences) = try await log.comparisons(since: 10)
        #expect(Set(comparisons) == [comparison("equal", count: 5), comparison("different")])
        #expect(differences == [difference("b", count: 5, first: 5, last: 6, examples: [[1], [2], [3]])])
        let all = try await log.comparisons(since: 0)
        #expect(all.comparisons.count == 3 && Set(all.differences.map(\.rule)) == ["a", "b"])
    }

    @Test(
        "Several processes add the same differences in any order at the same time, and no count is lost",
        arguments: engines)
    func concurrent(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let stores = [stage.store, try await stage.second(), try await stage.second(), try await stage.second()]
        try await concurrently(stores.enumerated()) { (index, store) in
            for round in 0..<25 {
                let order = (0..<20).map { ($0 * 7 + index * 5 + round) % 20 }
                try await store.comparisons.add(
                    comparisons: order.map { comparison("\($0)") },
                    differences: order.map { difference("\($0)", examples: [[UInt8($0)]]) },
                    customers: [
                        ComparedCustomers(
                            day: 10, bundleId: "com.example.app", environment: "Production",
                            digests: order.map { Int64($0) })
                    ])
            }
        }
        let (comparisons, differences) = try await stage.store.comparisons.comparisons(since: 0)
        #expect(comparisons.count == 20 && comparisons.allSatisfy { $0.count == 100 })
        #expect(differences.count == 20 && differences.allSatisfy { $0.count == 100 && $0.examples.count == 3 })
        #expect(try await stage.store.comparisons.comparedCustomers(since: 0).map(\.count) == [20])
    }
}
