import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Compared customers in the store")
struct ComparedCustomerTests {
    private func add(_ digests: [Int64], on day: Int64, limit: Int = 10_000, to store: any Store) async throws {
        try await store.comparisons.add(
            comparisons: [], differences: [],
            customers: [
                ComparedCustomers(day: day, bundleId: "com.example.app", environment: "Production", digests: digests)
            ], limit: limit)
    }

    private func count(since day: Int64, in store: any Store) async throws -> [Int64] {
        try await store.comparisons.comparedCustomers(since: day).map(\.count)
    }

    @Test("A customer is counted once across days and restarts, on the last day of a comparison", arguments: engines)
    func once(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let first = stage.store
        try await add([1, 2, 2], on: 10, to: first)
        try await add([1], on: 12, to: first)
        let second = try await stage.reopened()
        try await add([1, 3], on: 11, to: second)
        #expect(try await count(since: 1, in: second) == [3])
        #expect(try await count(since: 11, in: second) == [2])
        #expect(try await count(since: 12, in: second) == [1])
        #expect(try await count(since: 13, in: second) == [])
    }

    @Test("Of more customers than the limit those compared last are stored", arguments: engines)
    func bounded(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let store = stage.store
        try await add(Array(1...9), on: 10, limit: 5, to: store)
        try await add(Array(1...9), on: 11, limit: 5, to: store)
        #expect(try await count(since: 1, in: store) == [5])
        #expect(try await count(since: 11, in: store) == [5])
    }
}
