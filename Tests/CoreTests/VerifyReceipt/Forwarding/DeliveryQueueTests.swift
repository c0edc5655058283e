import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Delivery queue")
struct DeliveryQueueTests {
    /// A queue, and what it did so far.
    private struct Stage {
        var queue: DeliveryQueue
        private let start = ContinuousClock.now
        private let scope: AppScope

        init(maximum: Int = 64, schedule: DeliverySchedule = DeliverySchedule()) throws {
            scope = try AppScope.of()
            queue = DeliveryQueue(maximum: maximum, schedule: schedule)
        }

        func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

        func delivery(_ id: Int64, attempts: Int = 0, age: Duration = .zero) -> StoredDelivery {
            StoredDelivery(
                id: id, scope: scope, notification: id, uuid: "\(id)", text: nil, rawBody: nil, attempts: attempts,
                bodiesSent: 0, queuedAt: Timestamp(seconds: 0), age: age, lessee: "a")
        }

        /// Returns the actions after an event, in words.
        mutating func after(_ event: DeliveryQueue.Event, at seconds: Int = 0) -> [String] {
            queue.actions(after: event, at: at(seconds)).map(\.words)
        }

        /// The store returns deliveries at a time of its clock.
        func found(_ ids: ClosedRange<Int64>?, at seconds: Int64 = 1_000) -> DeliveryQueue.Event {
            .claimed(
                DeliveryClaim(time: Timestamp(seconds: seconds), deliveries: ids.map { $0.map { delivery($0) } } ?? []))
        }
    }

    @Test("It claims half as many more than can be in flight, sends up to the limit, and claims more when few are left")
    func claims() throws {
        var stage = try Stage()
        #expect(stage.after(.started) == ["await arrival", "await renewal", "claim 12"])
        #expect(stage.after(.arrived) == ["await arrival"])
        #expect(stage.after(stage.found(1...12)) == ["send 1", "send 2", "send 3", "send 4"])
        for id in Int64(1)...3 {
            #expect(stage.after(.attempted(stage.delivery(id), bodiesSent: 1, nil)) == ["settle \(id) delivered"])
            #expect(stage.after(.ended([id])) == ["send \(id + 4)"])
        }
        #expect(stage.after(.ended([4])) == ["send 8"])
        #expect(stage.after(.ended([5])) == ["send 9", "claim 5"])
        // Fewer than wanted: the next claim waits for an event.
        #expect(stage.after(stage.found(13...13)) == [])
        #expect(stage.after(.arrived) == ["await arrival"])
        #expect(stage.after(.ended([6])) == ["send 10", "claim 5"])
    }

    @Test("A claim that failed, or found nothing, is repeated after the next event, not at once")
    func nothingFound() throws {
        var stage = try Stage(maximum: 1)
        #expect(stage.after(.started).last == "claim 9")
        #expect(stage.after(.claimed(nil)) == [])
        #expect(stage.after(.renewalDue) == ["await renewal"])
        #expect(stage.after(.arrived) == ["await arrival", "claim 9"])
        #expect(stage.after(stage.found(nil)) == [])
        #expect(stage.after(.arrived) == ["await arrival", "claim 9"])
    }

    @Test("An attempt ends with its outcome; one that was interrupted leaves the delivery due")
    func outcomes() throws {
        let stage = try Stage(schedule: DeliverySchedule(pauses: [.seconds(10), .minutes(1)], maximumAttempts: 5))
        let failure = ForwardingFailure("http.500")
        let table: [(attempts: Int, age: Duration, sent: Int, failure: ForwardingFailure?, expected: String)] = [
            (0, .zero, 2, nil, "settle 7 delivered"), (0, .zero, 0, nil, "settle 7 skipped"),
            (0, .zero, 1, failure, "settle 7 failed http.500, 1 sent, again after 10.0 seconds"),
            (1, .zero, 0, failure, "settle 7 failed http.500, 0 sent, again after 60.0 seconds"),
            (3, .zero, 0, failure, "settle 7 failed http.500, 0 sent, again after 60.0 seconds"),
            (4, .zero, 0, failure, "settle 7 abandoned http.500, 0 sent"),
            (0, .days(3), 0, failure, "settle 7 abandoned http.500, 0 sent"),
            (0, .zero, 1, .stopped, "release [7]"), (0, .days(9), 0, .leaseEnded, "release [7]"),
        ]
        for row in table {
            var copy = stage
            _ = copy.after(.started)
            let delivery = stage.delivery(7, attempts: row.attempts, age: row.age)
            #expect(copy.after(.attempted(delivery, bodiesSent: row.sent, row.failure)) == [row.expected])
        }
    }

    @Test("Leases are renewed together; nothing begins without one, and what another worker has is given up")
    func leases() throws {
        var stage = try Stage(maximum: 1)
        _ = stage.after(.started)
        #expect(stage.after(stage.found(1...4), at: 1) == ["send 1"])
        #expect(stage.queue.beginPost(of: 1, at: stage.at(11)) == 0)
        #expect(stage.queue.beginPost(of: 1, at: stage.at(12)) == nil)
        // The lease of 2 has ended, so it waits for its renewal. The one of 3 belongs to another worker.
        #expect(stage.after(.ended([1]), at: 12) == ["claim 6"])
        #expect(stage.after(.renewalDue, at: 13) == ["renew [2, 3, 4]"])
        let end = Timestamp(seconds: 1_025)
        #expect(stage.after(.renewed([2: end, 4: end]), at: 14) == ["await renewal", "send 2"])
        #expect(stage.queue.beginPost(of: 2, at: stage.at(24)) == 0)
        #expect(stage.queue.beginPost(of: 2, at: stage.at(25)) == nil)
        // A claim returns what this worker has already, because its lease had ended in the store.
        #expect(stage.after(stage.found(2...3), at: 15) == [])
        #expect(stage.after(.ended([2]), at: 16) == ["send 4", "claim 7"])
        // A renewal that failed changes nothing.
        #expect(stage.after(.renewalDue, at: 17) == ["renew [3, 4]"])
        #expect(stage.after(.renewed(nil), at: 17) == ["await renewal"])
        #expect(stage.after(.ended([4]), at: 18) == ["send 3"])
    }

    @Test("A delivery that ended during a renewal, and was claimed again, keeps its new lease")
    func renewalOfEnded() throws {
        var stage = try Stage(maximum: 1)
        _ = stage.after(.started)
        _ = stage.after(stage.found(1...1))
        #expect(stage.after(.renewalDue, at: 1) == ["renew [1]"])
        #expect(stage.after(.ended([1]), at: 2) == ["claim 9"])
        #expect(stage.after(stage.found(1...1), at: 3) == ["send 1"])
        #expect(stage.after(.renewed([:]), at: 4) == ["await renewal"])
        #expect(stage.queue.beginPost(of: 1, at: stage.at(13)) == 0)
    }

    @Test("Leases of others are taken over up to the last of regular responses by the store's clock")
    func takeover() throws {
        var stage = try Stage(maximum: 1)
        _ = stage.after(.started)
        var ends: [Timestamp] = []
        // Three seconds apart; then the clock jumps, or the store is away; then it is set back.
        for time in [100, 103, 106, 109, 130, 133, 136, 140, 90, 96] as [Int64] {
            _ = stage.after(stage.found(nil, at: time))
            for case .claim(_, let end) in stage.queue.actions(after: .arrived, at: stage.at(0)) { ends.append(end) }
        }
        #expect(ends.map(\.seconds) == [0, 0, 106, 109, 0, 0, 136, 140, 0, 96])
        // Time that passes after a response counts, unless it is an outage.
        for (seconds, end) in [(6, 105), (13, 99)] as [(Int, Int64)] {
            _ = stage.after(stage.found(nil, at: 99))
            for case .claim(_, let limit) in stage.queue.actions(after: .arrived, at: stage.at(seconds)) {
                #expect(limit.seconds == end)
            }
        }
    }

    @Test("A failure of the target halves the limit, a refusal does not, and successes raise it")
    func concurrency() throws {
        let table: [(statuses: [Int], limit: Int)] = [
            ([200, 200, 200, 200], 8), ([404, 302, 400], 4), ([200, 200, 200, 200, 503, 503], 4),
            ([200, 200, 200, 200, 0], 4), ([200, 200, 200, 200, 429], 4), ([200, 200, 200, 200, 408], 4),
        ]
        for row in table {
            var stage = try Stage()
            _ = stage.after(.started)
            _ = stage.after(stage.found(1...12))
            for status in row.statuses {
                stage.queue.recordPost(status: status, after: .milliseconds(1), begunAfter: 0)
            }
            #expect(stage.queue.concurrency.limit == row.limit, "\(row.statuses)")
        }
    }

    @Test("After a stop nothing begins, what waits is released, and it is done when all has ended")
    func stop() throws {
        var stage = try Stage(maximum: 1)
        _ = stage.after(.started)
        _ = stage.after(stage.found(1...9))
        stage.queue.stop()
        #expect(stage.after(.arrived) == ["release [2, 3, 4, 5, 6, 7, 8, 9]"] && !stage.queue.isDone)
        #expect(stage.after(.renewalDue) == ["renew [1]"])
        #expect(stage.after(.ended(Array(2...9))) == [] && !stage.queue.isDone)
        #expect(stage.after(.attempted(stage.delivery(1), bodiesSent: 0, .stopped)) == ["release [1]"])
        #expect(!stage.queue.isDone)
        #expect(stage.after(.ended([1])) == [] && stage.queue.isDone)
    }

    @Test("A claim that returns after the stop is released")
    func stopDuringClaim() throws {
        var stage = try Stage(maximum: 1)
        _ = stage.after(.started)
        stage.queue.stop()
        #expect(stage.after(.arrived) == [] && !stage.queue.isDone)
        #expect(stage.after(stage.found(1...2)) == ["release [1, 2]"] && !stage.queue.isDone)
        #expect(stage.after(.ended([1, 2])) == [] && stage.queue.isDone)
    }
}

extension DeliveryQueue.Action {
    fileprivate var words: String {
        switch self {
        case .awaitArrival: "await arrival"
        case .awaitRenewal: "await renewal"
        case .claim(let limit, _): "claim \(limit)"
        case .renew(let ids): "renew \(ids.sorted())"
        case .send(let delivery): "send \(delivery.id)"
        case .settle(let delivery, let outcome): "settle \(delivery.id) \(outcome.words)"
        case .release(let deliveries): "release \(deliveries.map(\.id))"
        }
    }
}

extension DeliveryOutcome {
    fileprivate var words: String {
        switch self {
        case .delivered: "delivered"
        case .skipped: "skipped"
        case .failed(let code, let sent, let pause): "failed \(code), \(sent) sent, again after \(pause)"
        case .abandoned(let code, let sent): "abandoned \(code), \(sent) sent"
        }
    }
}
