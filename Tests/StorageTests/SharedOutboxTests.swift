import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Outbox of several servers")
struct SharedOutboxTests {
    private static let purchases = 1_000
    private static let perPurchase = 3

    /// The deliveries so far: an order of each purchase, and what is in flight.
    private final class Attempts: Sendable {
        private struct State {
            var inFlight: Set<String> = []
            var next: [String: Int] = [:]
            var delivered = 0
            var mistakes: [String] = []
        }

        private let state = Mutex(State())

        var delivered: Int { state.withLock(\.delivered) }
        var mistakes: [String] { state.withLock(\.mistakes) }

        /// Notes the begin of an attempt. A UUID consists of the purchase and of its position.
        func begin(_ uuid: String) {
            let (purchase, position) = Self.parts(of: uuid)
            state.withLock { state in
                if !state.inFlight.insert(purchase).inserted { state.mistakes.append("\(uuid): two in flight") }
                let expected = state.next[purchase, default: 0]
                if expected != position { state.mistakes.append("\(uuid) instead of \(expected)") }
            }
        }

        /// Notes the end of a successful attempt, before others can learn of it.
        func end(_ uuid: String) {
            let (purchase, position) = Self.parts(of: uuid)
            state.withLock { state in
                state.inFlight.remove(purchase)
                state.next[purchase] = position + 1
                state.delivered += 1
            }
        }

        private static func parts(of uuid: String) -> (purchase: String, position: Int) {
            let parts = uuid.split(separator: "-").map(String.init)
            return (parts[0], Int(parts[1]) ?? -1)
        }
    }

    /// Queues deliveries of many purchases. Those of one purchase are due one after another, before those of the next.
    private func receive(_ purchases: Int, times: Int, on stage: StoreStage) async throws {
        let targetKey = stage.scope.target()
        for position in 0..<times {
            try await withThrowingTaskGroup { group in
                for purchase in 0..<purchases {
                    let date = Int64(purchase * times + position)
                    group.addTask {
                        let row = NotificationRow("\(purchase)-\(position)", at: date)
                        let status = StatusRow("\(purchase)", at: date)
                        try await stage.receive(row, NotificationUpdate(status: status), for: [targetKey])
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private func claim(
        _ lessee: String, from store: any Store, _ targetKey: ForwardingTargetKey
    ) async throws -> [StoredDelivery] {
        try await store.outbox.claim(to: targetKey, by: lessee, limit: 16)
    }

    @Test(
        "Four servers deliver each notification once and those of a purchase in order, never two of one purchase at a time",
        arguments: engines)
    func shared(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let targetKey = stage.scope.target()
        try await receive(Self.purchases, times: Self.perPurchase, on: stage)
        let stores = [stage.store, try await stage.second(), try await stage.second(), try await stage.second()]
        let attempts = Attempts()
        let total = Self.purchases * Self.perPurchase
        try await concurrently(stores.enumerated()) { (index, store) in
            while attempts.delivered < total {
                let claimed = try await claim("server \(index)", from: store, targetKey)
                for delivery in claimed { attempts.begin(delivery.uuid) }
                try await withThrowingTaskGroup { settling in
                    for delivery in claimed {
                        settling.addTask {
                            attempts.end(delivery.uuid)
                            try await store.outbox.settle(delivery, .delivered(bodies: 1), at: .now)
                        }
                    }
                    try await settling.waitForAll()
                }
                if claimed.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            }
        }
        #expect(attempts.mistakes.isEmpty, "\(attempts.mistakes.prefix(5))")
        #expect(attempts.delivered == total)
        #expect(try await stage.store.outbox.deliveries(in: .delivered, after: 0, limit: 9_999).count == total)
        #expect(try await stage.store.outbox.deliveryBacklog().isEmpty)
        for store in stores { await store.close() }
    }

    @Test(
        "The deliveries of a server that stopped are taken over at the end of the lease, and its late outcomes are ignored",
        arguments: engines)
    func takenOver(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let targetKey = stage.scope.target()
        try await receive(20, times: 1, on: stage)
        let stopped = try await claim("stopped", from: stage.store, targetKey)
        #expect(stopped.count == 16)
        let other = try await stage.second()
        #expect(try await claim("other", from: other, targetKey).count == 4)
        try await other.outbox.pass(.minutes(1))
        let taken = try await claim("third", from: other, targetKey)
        #expect(taken.count == 16)
        let before = try await other.outbox.deliveries()
        for delivery in stopped {
            try await stage.store.outbox.settle(delivery, .failed(code: "late", bodiesSent: 1, pause: .zero), at: .now)
            try await stage.store.outbox.settle(delivery, .delivered(bodies: 1), at: .now)
        }
        try await stage.store.outbox.release(stopped)
        #expect(try await other.outbox.deliveries() == before)
        // Of the last four, nothing was settled either.
        #expect(try await claim("fourth", from: stage.store, targetKey).count == 4)
        #expect(try await claim("fifth", from: stage.store, targetKey).isEmpty)
        for delivery in taken { try await other.outbox.settle(delivery, .delivered(bodies: 1), at: .now) }
        #expect(try await other.outbox.deliveries(in: .delivered).count == 16)
    }
}
