import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Outbox in the store")
struct OutboxTests {
    /// Stores notifications about purchases, one after another.
    ///
    /// - Parameter times: when each was received, in milliseconds; by default in the same order.
    private func receive(
        _ purchases: [String], at times: [Int64]? = nil, on stage: StoreStage, _ targets: ForwardingTargetKey...
    ) async throws {
        for (index, purchase) in purchases.enumerated() {
            let date = times?[index] ?? Int64(index)
            let row = NotificationRow("\(index)", at: date, text: "text \(index)")
            let status = StatusRow(purchase, at: date)
            try await stage.receive(row, NotificationUpdate(status: status), for: targets)
        }
    }

    private func claim(
        _ lessee: String, limit: Int = 9, on store: any Store, _ target: ForwardingTargetKey
    ) async throws -> [StoredDelivery] {
        try await store.outbox.claim(to: target, by: lessee, limit: limit)
    }

    @Test("Two workers never get the same delivery, nor two about one purchase", arguments: engines)
    func exclusive(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let target = stage.scope.target()
        try await receive(["1", "2", "1", "3", "2"], on: stage, target)
        let other = try await stage.second()
        let first = try await claim("a", limit: 2, on: stage.store, target)
        #expect(first.map(\.uuid) == ["0", "1"] && first.map(\.text) == ["text 0", "text 1"])
        #expect(try await claim("b", on: other, target).map(\.uuid) == ["3"])
        #expect(try await claim("a", on: stage.store, target).isEmpty)
        try await stage.store.outbox.settle(first[0], .delivered(bodies: 1), at: .now)
        #expect(try await claim("b", on: other, target).map(\.uuid) == ["2"])
    }

    @Test("The targets with a delivery that is due and not leased are found together", arguments: engines)
    func dueTargets(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (outbox, leased) = (stage.store.outbox, stage.scope.target())
        let (due, delivered) = (
            stage.scope.target("camel", leased.url),
            stage.scope.target("raw", "http://127.0.0.1:9/other")
        )
        try await receive(["1"], on: stage, leased, due, delivered)
        try await outbox.pass(.days(-36_500))
        #expect(try await stage.dueTargets().isEmpty)
        try await outbox.pass(.days(36_500))
        _ = try await claim("a", on: stage.store, leased)
        for delivery in try await claim("b", on: stage.store, delivered) {
            try await outbox.settle(delivery, .delivered(bodies: 1), at: .now)
        }
        #expect(try await stage.dueTargets() == [due])
        try await outbox.pass(.minutes(1))
        #expect(try await stage.dueTargets() == [leased, due])
    }

    @Test(
        "Of two deliveries about one purchase the one stored first is sent first, although its time is later",
        arguments: engines)
    func storedFirst(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let target = stage.scope.target()
        try await receive(["1", "1"], at: [5, 4], on: stage, target)
        #expect(try await claim("a", on: stage.store, target).map(\.uuid) == ["0"])
    }

    @Test(
        "Leases and due times are those of the database's clock, whatever the clocks of the servers are",
        arguments: [Duration.minutes(-10), .minutes(10)])
    func clocks(difference: Duration) async throws {
        // A store in a file belongs to one machine, which has one clock.
        guard StoreTestEngine.available.contains(.postgresql) else { return }
        let stage = try await StoreStage(.postgresql)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        let other = Timestamp.now.advanced(by: difference)
        try await receive(["1", "2"], at: [other.milliseconds, 5], on: stage, target)
        let first = try await outbox.claim(to: target, by: "a")
        #expect(first.map(\.uuid) == ["0", "1"] && first.allSatisfy { $0.age < .minutes(1) })
        #expect(try await outbox.claim(to: target, by: "b", at: other).isEmpty)
        let lease = DeliveryLease(lessee: "a", lasting: .minutes(2))
        #expect(try await outbox.renew([first[1].id], for: lease, at: other).count == 1)
        try await outbox.settle(first[0], .failed(code: "x", bodiesSent: 0, pause: .seconds(90)), at: other)
        try await outbox.pass(.minutes(1))
        #expect(try await outbox.claim(to: target, by: "b").isEmpty)
        #expect(try await stage.dueTargets(at: other).isEmpty)
        try await outbox.pass(.minutes(1))
        #expect(try await stage.dueTargets(at: other) == [target])
        #expect(try await outbox.claim(to: target, by: "b", at: other).count == 2)
        let queued = try await outbox.replay(.notification(uuid: "0"), to: nil, at: other)
        #expect(queued.allSatisfy { $0.nextAttempt.map { $0 < .now.advanced(by: .minutes(1)) } ?? false })
    }

    @Test(
        "A delivery that is due later than the next one about its purchase, as the clock was set back, stays the first")
    func clockSetBack() async throws {
        guard StoreTestEngine.available.contains(.postgresql) else { return }
        let stage = try await StoreStage(.postgresql)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        try await receive(["1", "1", "2"], on: stage, target)
        try await outbox.write([
            SQLStatement(
                """
                UPDATE delivery SET nextAttempt = nextAttempt + 60000 WHERE id = (SELECT min(id) FROM delivery)
                """)
        ])
        let other = try await claim("a", on: stage.store, target)
        #expect(other.map(\.uuid) == ["2"])
        try await outbox.settle(try #require(other.first), .delivered(bodies: 1), at: .now)
        try await outbox.pass(.minutes(1))
        let first = try await claim("a", on: stage.store, target)
        #expect(first.map(\.uuid) == ["0"])
        // After a failed attempt, the others no longer wait.
        try await outbox.settle(first[0], .failed(code: "x", bodiesSent: 0, pause: .minutes(1)), at: .now)
        #expect(try await claim("a", on: stage.store, target).map(\.uuid) == ["1"])
    }

    @Test("A lease that ran out is claimed again, and its failure no longer counts", arguments: engines)
    func expiry(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        try await receive(["1"], on: stage, target)
        let first = try #require(try await claim("a", on: stage.store, target).first)
        try await outbox.pass(.seconds(30))
        #expect(try await stage.dueTargets().isEmpty)
        #expect(try await claim("b", on: stage.store, target).isEmpty)
        try await outbox.pass(.seconds(30))
        #expect(try await stage.dueTargets() == [target])
        let second = try #require(try await claim("b", on: stage.store, target).first)
        try await outbox.settle(first, .failed(code: "x", bodiesSent: 0, pause: .zero), at: .now)
        #expect(try await outbox.deliveries().map(\.attempts) == [0])
        #expect(try await claim("c", on: stage.store, target).isEmpty)
        try await outbox.settle(second, .failed(code: "y", bodiesSent: 0, pause: .zero), at: .now)
        #expect(try await outbox.deliveries().map(\.lastFailure) == ["y"])
        #expect(try await claim("c", on: stage.store, target).count == 1)
    }

    @Test(
        "A renewed lease lasts longer, also one that has ended; one that passed to another worker is not renewed",
        arguments: engines)
    func renewal(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        try await receive(["1", "2", "3"], on: stage, target)
        let claimed = try await claim("a", on: stage.store, target)
        let ids = Set(claimed.map(\.id))
        func renew(_ lessee: String) async throws -> Set<Int64> {
            let lease = DeliveryLease(lessee: lessee, lasting: .minutes(1))
            return Set(try await outbox.renew(ids, for: lease, at: .now).keys)
        }
        try await outbox.settle(claimed[0], .delivered(bodies: 1), at: .now)
        #expect(try await renew("b") == [])
        try await outbox.pass(.seconds(30))
        #expect(try await renew("a") == ids.subtracting([claimed[0].id]))
        try await outbox.pass(.seconds(30))
        #expect(try await claim("b", on: stage.store, target).isEmpty)
        try await outbox.pass(.seconds(30))
        #expect(try await claim("b", limit: 1, on: stage.store, target).map(\.id) == [claimed[1].id])
        #expect(try await renew("a") == [claimed[2].id])
        #expect(try await claim("b", on: stage.store, target).isEmpty)
        #expect(try await outbox.renew([], for: DeliveryLease(lessee: "a"), at: .now) == [:])
    }

    @Test(
        "A lease that has ended is not taken over before the given time, and holds back its purchase until then",
        arguments: engines)
    func takingOver(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        try await receive(["1", "1", "2"], on: stage, target)
        #expect(try await claim("a", limit: 1, on: stage.store, target).map(\.uuid) == ["0"])
        func takeOver(until end: Timestamp) async throws -> DeliveryClaim {
            let lease = DeliveryLease(lessee: "b", lasting: .minutes(1))
            return try await outbox.claim(to: target, for: lease, at: .now, takingOverUntil: end, limit: 9)
        }
        try await outbox.pass(.minutes(1))
        let early = try await takeOver(until: Timestamp(milliseconds: 0))
        #expect(early.deliveries.map(\.uuid) == ["2"])
        #expect(try await takeOver(until: early.time).deliveries.map(\.uuid) == ["0"])
    }

    @Test(
        "A late success is ignored during the attempt of another worker, and counts after its failure",
        arguments: engines)
    func lateSuccess(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        try await receive(["1", "1"], on: stage, target)
        let late = try #require(try await claim("a", on: stage.store, target).first)
        try await outbox.pass(.minutes(1))
        let second = try #require(try await claim("b", on: stage.store, target).first)
        try await outbox.settle(late, .delivered(bodies: 1), at: .now)
        // Otherwise the next one about this purchase would be sent at the same time.
        #expect(try await claim("c", on: stage.store, target).isEmpty)
        try await outbox.settle(second, .failed(code: "x", bodiesSent: 0, pause: .minutes(1)), at: .now)
        try await outbox.settle(late, .delivered(bodies: 1), at: .now)
        #expect(try await outbox.deliveries().map(\.state) == [.delivered, .waiting])
        // A late failure changes nothing in any case.
        try await outbox.settle(late, .failed(code: "late", bodiesSent: 0, pause: .minutes(1)), at: .now)
        #expect(try await outbox.deliveries().map(\.lastFailure) == [nil, nil])
    }

    @Test("A delivery is found behind more than a hundred of a purchase that is in flight", arguments: engines)
    func crowd(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let target = stage.scope.target()
        try await receive(Array(repeating: "1", count: 120) + ["2"], on: stage, target)
        #expect(try await claim("a", limit: 1, on: stage.store, target).map(\.uuid) == ["0"])
        #expect(try await claim("b", on: stage.store, target).map(\.uuid) == ["120"])
    }

    @Test("A released delivery, and one queued again during its attempt, is due at once", arguments: engines)
    func release(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (outbox, target) = (stage.store.outbox, stage.scope.target())
        try await receive(["1", "2"], on: stage, target)
        let claimed = try await claim("a", on: stage.store, target)
        try await outbox.release([claimed[1]])
        let again = try await claim("b", on: stage.store, target)
        #expect(again.map(\.uuid) == ["1"])
        // The lease of another worker stays.
        try await outbox.release([claimed[1]])
        #expect(try await claim("c", on: stage.store, target).isEmpty)
        let queued = try await outbox.replay(.notification(uuid: "0"), to: nil, at: .now)
        #expect(queued.map(\.uuid) == ["0"])
        // The attempt in flight goes on, and no other begins.
        #expect(try await claim("c", on: stage.store, target).isEmpty)
        try await outbox.settle(claimed[0], .delivered(bodies: 1), at: .now)
        #expect(try await claim("c", on: stage.store, target).map(\.uuid) == ["0"])
        #expect(try await outbox.deliveryBacklog().map(\.waiting) == [2])
    }

    @Test(
        "Of the due deliveries about one purchase the first is selected, unless one is in flight",
        arguments: [
            ([], 9, [1, 2, 4, 6]), (["a"], 9, [2, 4, 6]), (["a", "b"], 9, [4, 6]), ([], 2, [1, 2]), ([], 0, []),
            (["a"], 1, [2]),
        ] as [(Set<String>, Int, [Int64])])
    func selection(leased: Set<String>, limit: Int, expected: [Int64]) {
        let due = zip(1..., ["a", "b", "a", nil, "b", nil]).map { DueDelivery(id: $0, subject: $1) }
        #expect(ClaimSelection.ids(of: due, leasedSubjects: leased, limit: limit) == expected)
    }

    @Test("Of the due deliveries about one purchase, the one with the smallest id is selected")
    func selectionByID() {
        let due = [(3, "a"), (1, "a"), (2, "b")].map { DueDelivery(id: $0, subject: $1) }
        #expect(ClaimSelection.ids(of: due, leasedSubjects: [], limit: 9) == [1, 2])
    }
}

extension StoreStage {
    /// The targets to which a delivery is due.
    fileprivate func dueTargets(at now: Timestamp = .now) async throws -> Set<ForwardingTargetKey> {
        try await store.outbox.dueTargets(at: now)
    }
}
