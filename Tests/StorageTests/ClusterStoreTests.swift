import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// Several stores on one PostgreSQL database, as several servers have them.
private struct ClusterStage {
    let stores: [any Store]
    let clusters: [any ClusterStore]
    let scope: AppScope
    private let stage: StoreStage

    init(_ count: Int) async throws {
        stage = try await StoreStage(.postgresql)
        scope = stage.scope
        var stores = [stage.store]
        while stores.count < count { stores.append(try await stage.second()) }
        self.stores = stores
        clusters = try stores.map { try #require($0.cluster) }
    }
}

@Suite(
    "Servers of one store",
    .enabled(if: StoreTestEngine.available.contains(.postgresql), "needs PostgreSQL: make test-postgresql"))
struct ClusterStoreTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)

    @Test("What one server stores, the others read once, and it does not read it itself")
    func changes() async throws {
        let stage = try await ClusterStage(2)
        let (writer, reader) = (stage.clusters[0], stage.clusters[1])
        try await stage.stores[0].customers.save(
            CustomerRow(
                [TransactionRow("12", "11", at: Self.now.milliseconds, download: "17")], at: Self.now.milliseconds),
            of: stage.scope)
        try await stage.stores[0].revocations.save(
            revoked: [RevocationRow("12", at: Self.now.milliseconds)],
            valid: ["13"], askedAt: .now, of: stage.scope)
        let page = try await reader.changes(since: nil)
        #expect(
            page.changes == [
                StoredChange(.lookup, of: ["11", "17"], transactions: ["12"], in: stage.scope),
                StoredChange(.event, of: ["12", "13"], transactions: ["12", "13"], in: stage.scope),
            ])
        #expect(!page.hasGap && !page.hasMore)
        // Read again from before the position, because transactions commit in any order, but returned once.
        let next = try await reader.changes(since: page.position)
        #expect(next.changes.isEmpty)
        #expect(next.position.returned.count == 2)
        #expect(try await writer.changes(since: nil).changes.isEmpty)
        try await writer.expireChanges()
        #expect(try await reader.changes(since: nil).changes.count == 2)
        // A server that did not read for an hour may have missed changes.
        let old = ChangePosition(readAt: page.position.readAt.advanced(by: .hours(-1)), returned: [:])
        #expect(try await reader.changes(since: old).hasGap)
    }

    @Test("Gaps in the notifications of one server are known to the others until they are removed")
    func gaps() async throws {
        let stage = try await ClusterStage(2)
        func gap(_ start: Int64, _ end: Int64) -> NotificationGap {
            NotificationGap(from: Timestamp(milliseconds: start), to: Timestamp(milliseconds: end))
        }
        try await stage.clusters[0].add(gap(20, 30))
        try await stage.clusters[1].add(gap(10, 12))
        let known = try await stage.clusters[1].notificationGaps()
        #expect(known.gaps == [gap(10, 12), gap(20, 30)])
        try await stage.clusters[0].add(gap(40, 50))
        try await stage.clusters[1].remove(known)
        #expect(try await stage.clusters[0].notificationGaps().gaps == [gap(40, 50)])
    }

    @Test("Of four servers, one looks a customer up within the interval")
    func lookups() async throws {
        let stage = try await ClusterStage(4)
        let id = try #require(TransactionIdentifier(rawValue: "11"))
        func claims(_ interval: Duration) async throws -> Int {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<8 {
                    let store = stage.clusters[number % 4]
                    let scope = stage.scope
                    group.addTask { try await store.claimLookup(of: id, in: scope, every: interval) }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
        }
        #expect(try await claims(.seconds(60)) == 1)
        #expect(try await claims(.seconds(60)) == 0)
        try await Task.sleep(for: .milliseconds(20))
        #expect(try await claims(.milliseconds(10)) >= 1)
    }

    @Test("Running servers are counted")
    func servers() async throws {
        let stage = try await ClusterStage(2)
        #expect(try await stage.clusters[0].checkIn("a", countingWithin: .seconds(60)) == 1)
        #expect(try await stage.clusters[1].checkIn("b", countingWithin: .seconds(60)) == 2)
        #expect(try await stage.clusters[1].checkIn("b", countingWithin: .seconds(60)) == 2)
        try await stage.clusters[0].checkOut("a")
        #expect(try await stage.clusters[1].checkIn("b", countingWithin: .seconds(60)) == 1)
    }

    @Test("Eight takers of four servers get no more calls in three seconds than the bucket allows")
    func calls() async throws {
        let stage = try await ClusterStage(4)
        let bucket = CallBucketKey(scope: stage.scope, endpoint: "history")
        // 300 calls, and 50 more each second.
        let (size, start) = (180_000 as Int64, ContinuousClock.now)
        let first = try await stage.clusters[0].takeCalls(
            CallRequest(bucket: bucket, count: size - 300, callsPerHour: size, reserved: 0))
        #expect(first.count == size - 300)
        let granted = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<8 {
                let store = stage.clusters[number % 4]
                group.addTask {
                    var count: Int64 = 0
                    while ContinuousClock.now - start < .seconds(3) {
                        let grant = try await store.takeCalls(
                            CallRequest(bucket: bucket, count: 20, callsPerHour: size, reserved: 0))
                        count += grant.count
                        #expect(grant.count > 0 || grant.wait > .zero)
                        if grant.count == 0 { try await Task.sleep(for: grant.wait) }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        let allowed = 300 + 50 * Double((ContinuousClock.now - start) / .seconds(1))
        #expect(Double(granted) <= allowed)
        #expect(granted >= 330)
    }

    @Test("Batch calls leave the reserve, unused calls come back, and a pause holds for every server")
    func reserve() async throws {
        let stage = try await ClusterStage(2)
        let bucket = CallBucketKey(scope: stage.scope, endpoint: "statuses")
        func take(_ count: Int64, reserved: Int64, _ number: Int) async throws -> CallGrant {
            try await stage.clusters[number].takeCalls(
                CallRequest(bucket: bucket, count: count, callsPerHour: 10, reserved: reserved))
        }
        let batch = try await take(20, reserved: 3, 0)
        #expect(batch.count == 7 && batch.left == 3)
        let refused = try await take(1, reserved: 3, 1)
        #expect(refused.count == 0 && refused.wait > .seconds(300) && refused.wait <= .seconds(360))
        #expect(try await take(20, reserved: 0, 1).count == 3)
        try await stage.clusters[0].returnCalls(2, to: bucket)
        #expect(try await take(1, reserved: 0, 1).count == 1)
        try await stage.clusters[0].pauseCalls(of: bucket, for: .seconds(90))
        let paused = try await take(1, reserved: 0, 1)
        #expect(paused.count == 0 && paused.wait > .seconds(80) && paused.wait <= .seconds(90))
    }
}
