import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeComparison
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Migration with --refresh")
struct MigrationRefreshTests {
    private typealias LookupServiceStub = MigrationCustomerTests.LookupServiceStub

    private func api(_ options: inout MigrationOptions) { options.persisted.withAPI = true }

    private func refresh(_ options: inout MigrationOptions) {
        options.persisted.withAPI = true
        options.isRefresh = true
    }

    private func stage() throws -> (world: MigrationWorld, lookups: LookupServiceStub) {
        let world = try MigrationWorld()
        // An unsigned line states another environment, so such a customer is looked up in both.
        try world.write(world.rows.filter { !$0.id.contains("environmentLine") })
        let unknown = try SharedSimulator.receipt(.nonConsumable).originalTransactionIds
        return (world, LookupServiceStub(try MigrationWorld.histories().filter { Set($0).isDisjoint(with: unknown) }))
    }

    @Test("A refresh that is stopped before the first response keeps all existing data in the result")
    func stopped() async throws {
        let (world, lookups) = try stage()
        let first = try await world.run(lookups: lookups, api)
        #expect(first.counts.count(of: .migrated) > 0 && first.counts.count(of: .notFound) > 0)
        let result = try world.result
        let ending = try await world.run(lookups: lookups) {
            refresh(&$0)
            $0.limits.time = .zero
        }
        #expect(ending.stop == .time && ending.counts.outcomes == first.counts.outcomes)
        #expect(try world.result == result)
    }

    @Test("A refresh whose lookups fail temporarily keeps the existing data, says so, and retries")
    func failing() async throws {
        let (world, lookups) = try stage()
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let first = try await world.run(lookups: lookups, api)
        let result = try world.result
        lookups.fail(Set(receipt.originalTransactionIds))
        let ending = try await world.run(lookups: lookups, refresh)
        #expect(ending.stop == nil && ending.customers?.failed == 1 && ending.hasFailures)
        #expect(ending.counts.outcomes == first.counts.outcomes)
        #expect(try world.result == result)
        #expect(world.messages.contains { $0.hasPrefix("1 customers could not be refreshed") }, "\(world.messages)")
        var ofKnown = MigrationResult(counts: MigrationCounts())
        ofKnown.customers = ending.customers
        #expect(ofKnown.hasFailures && !ofKnown.counts.hasFailures)
        lookups.fail([])
        let requested = lookups.requested.count
        let next = try await world.run(lookups: lookups, api)
        #expect(next.customers?.failed == 0 && lookups.requested.count == requested + 1)
        #expect(try world.result == result)
    }

    @Test("A stopped refresh resumes without repeating lookups, and starts over after it has finished")
    func goingOn() async throws {
        let (world, lookups) = try stage()
        let first = try await world.run(lookups: lookups, api)
        let customers = Int(try #require(first.customers).all)
        let result = try world.result
        for _ in 0..<2 {
            let before = lookups.responded.count
            var runs = 0
            var isStopped = true
            while isStopped {
                lookups.rejectKey(after: 5)
                let ending = try await world.run(lookups: lookups, refresh)
                #expect(ending.stop == nil || ending.stop == .rejectedKey)
                #expect(try world.result == result)
                isStopped = ending.stop != nil
                runs += 1
                try #require(runs <= customers)
            }
            let responded = lookups.responded[before...].flatMap { $0 }
            #expect(lookups.responded.count - before == customers && runs > 1)
            #expect(Set(responded).count == responded.count, "a customer was looked up twice")
        }
    }

    @Test("A refresh reads only files that were added to a directory after the last one")
    func addedFiles() async throws {
        let world = try MigrationWorld()
        let folder = try TemporaryFolder()
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        for name in ["in/b", "in/c/1"] { try folder.write(name, receipt.base64) }
        let lookups = LookupServiceStub(try MigrationWorld.histories())
        func rows(_ change: (inout MigrationOptions) -> Void) async throws -> Int64 {
            let ending = try await world.run(lookups: lookups) {
                change(&$0)
                $0.source = folder.path("in")
            }
            return ending.counts.rows
        }
        #expect(try await rows(api) == 2)
        for name in ["in/a", "in/c/2", "in/d"] { try folder.write(name, receipt.base64) }
        #expect(try await rows(api) == 2)
        #expect(try await rows(refresh) == 4)
        #expect(try world.results().map { $0["id"]?.text } == ["b", "c/1", "c/2", "d"])
        #expect(try await rows(refresh) == 4)
    }
}
