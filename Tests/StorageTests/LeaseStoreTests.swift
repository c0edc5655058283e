import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Leases of tasks")
struct LeaseStoreTests {
    /// A holder of this process.
    private static func holder(_ name: String) -> String { "\(DeliveryLease.process)/\(name)" }

    @Test("Of eight that claim a task at the same time, one gets it", arguments: engines)
    func contention(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        var stores = [stage.store]
        for _ in 0..<3 { stores.append(try await stage.second()) }
        for term in 1...5 as ClosedRange<Int64> {
            let leases = try await withThrowingTaskGroup(of: TaskLease?.self) { group in
                for number in 0..<8 {
                    let store = stores[number % 4]
                    group.addTask {
                        try await store.leases.claim(.retention, for: Self.holder("\(number)"), lasting: .seconds(60))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }.compactMap { $0 }
            #expect(leases.map(\.term) == [term])
            for lease in leases {
                try await stage.store.leases.release(lease)
                #expect(try await stage.store.leases.renew(lease, lasting: .seconds(60)) == nil)
            }
        }
    }

    @Test("An expired lease is taken over with a higher term, and its last holder is fenced")
    func takeover() async throws {
        for engine in engines {
            let stage = try await StoreStage(engine)
            let other = try await stage.second()
            let first = try #require(
                try await stage.store.leases.claim(.archive, for: Self.holder("a"), lasting: .seconds(60)))
            let same = try #require(
                try await stage.store.leases.claim(.archive, for: Self.holder("a"), lasting: .milliseconds(40)))
            #expect(same.term == first.term)
            try await Task.sleep(for: .milliseconds(60))
            // No other holder has claimed it, so it can still be renewed.
            #expect(try await stage.store.leases.renew(first, lasting: .milliseconds(40)) != nil)
            try await Task.sleep(for: .milliseconds(60))
            let second = try #require(
                try await other.leases.claim(.archive, for: Self.holder("b"), lasting: .seconds(60)))
            #expect(second.term == first.term + 1)
            #expect(try await stage.store.leases.claim(.archive, for: Self.holder("a"), lasting: .seconds(60)) == nil)
            #expect(try await stage.store.leases.renew(first, lasting: .seconds(60)) == nil)
            // The last holder releases too late: the lease of the new one stays.
            try await stage.store.leases.release(first)
            let renewed = try #require(try await other.leases.renew(second, lasting: .seconds(90)))
            #expect(renewed.term == second.term)
            #expect(renewed.expiresAt > second.expiresAt)
            // Other tasks are independent.
            #expect(try await stage.store.leases.claim(.refunds, for: Self.holder("a"), lasting: .seconds(1)) != nil)
            await other.close()
            await stage.store.close()
        }
    }

    @Test("Work stops when its lease was lost, and is not started while another process has it")
    func work() async throws {
        for engine in engines {
            let stage = try await StoreStage(engine)
            let leases = stage.store.leases
            let lease = try #require(
                try await leases.claim(.retention, for: Self.holder("a"), lasting: .milliseconds(30)))
            let renewal = LeaseRenewal(lease, in: leases, lasting: .milliseconds(30))
            #expect(await renewal.isHeld())
            try await Task.sleep(for: .milliseconds(50))
            // It has expired, but no other holder has claimed it.
            #expect(await renewal.isHeld())
            try await Task.sleep(for: .milliseconds(50))
            let other = try #require(try await leases.claim(.retention, for: Self.holder("d"), lasting: .seconds(60)))
            #expect(await !renewal.isHeld())
            try await leases.release(other)
            #expect(await !renewal.isHeld())
            let result = try await TaskLease.whileHolding(.retention, in: leases, for: Self.holder("b")) {
                isHeld throws(StorageError) in
                let other = try await TaskLease.whileHolding(.retention, in: leases, for: Self.holder("c")) {
                    _ throws(StorageError) in true
                }
                return await isHeld() && other == nil
            }
            #expect(result == true)
            // The lease was released.
            #expect(try await leases.claim(.retention, for: Self.holder("c"), lasting: .seconds(9)) != nil)
            await stage.store.close()
        }
    }

    /// A store that can be reached from the third renewal on.
    private final class Unreachable: LeaseStore {
        let renewals = Mutex(0)
        let isTaken: Bool

        init(isTaken: Bool) { self.isTaken = isTaken }

        func claim(
            _ task: SharedTask, for holder: String, lasting duration: Duration
        ) async throws(StorageError) -> TaskLease? { nil }

        func renew(_ lease: TaskLease, lasting duration: Duration) async throws(StorageError) -> TaskLease? {
            let count = renewals.withLock { renewals in
                renewals += 1
                return renewals
            }
            guard count > 2 else { throw StorageError(.notOpen, at: "test", "no database") }
            return isTaken ? nil : lease
        }

        func release(_ lease: TaskLease) async throws(StorageError) {}
    }

    @Test("After an outage of the store, work continues with its expired lease, unless another holder has claimed it")
    func outage() async throws {
        let lease = TaskLease(task: .retention, holder: "a", term: 1, expiresAt: .now)
        for isTaken in [false, true] {
            let store = Unreachable(isTaken: isTaken)
            let renewal = LeaseRenewal(lease, in: store, lasting: .milliseconds(8))
            try await Task.sleep(for: .milliseconds(10))
            #expect(await renewal.isHeld() == !isTaken)
            #expect(store.renewals.withLock { $0 } == 3)
        }
        let gone = LeaseRenewal(
            lease, in: Unreachable(isTaken: false), lasting: .milliseconds(8), patience: .milliseconds(9))
        try await Task.sleep(for: .milliseconds(10))
        #expect(await !gone.isHeld())
    }

    @Test("An engine of one machine ends the lease of a process that has ended")
    func endedProcess() async throws {
        let stage = try await StoreStage(.sqlite)
        let ended = Process()
        ended.executableURL = URL(filePath: "/bin/true")
        try ended.run()
        ended.waitUntilExit()
        let holder = "\(ended.processIdentifier)/0/a"
        let first = try #require(try await stage.store.leases.claim(.refunds, for: holder, lasting: .seconds(60)))
        let second = try await stage.store.leases.claim(.refunds, for: Self.holder("a"), lasting: .seconds(60))
        #expect(second?.term == first.term + 1)
    }
}
