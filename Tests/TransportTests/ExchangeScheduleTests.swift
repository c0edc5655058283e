import Testing
import ReceiptBridgeTransport

@Suite("Exchange schedule")
struct ExchangeScheduleTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func submit(
        _ ids: ClosedRange<UInt64>, _ origin: String = "a", of owner: String = "", until deadline: Int = 60_000,
        now: Int = 0, _ schedule: inout ExchangeSchedule
    ) {
        for id in ids {
            schedule.submitted(.init(id, origin: origin, owner: owner, deadline: at(deadline)), now: at(now))
        }
    }

    @Test("Exchanges start in order of arrival up to the limit, the next one when one has ended")
    func order() {
        var schedule = ExchangeSchedule(.init(total: 9, perOrigin: 2))
        submit(1...4, until: 1000, &schedule)
        #expect(schedule.actions(now: start) == [.start(1), .start(2)])
        #expect(schedule.actions(now: start) == [])
        schedule.finished(2, now: start)
        #expect(schedule.actions(now: start) == [.start(3)])
        schedule.finished(1, now: start)
        schedule.finished(1, now: start)
        #expect(schedule.actions(now: start) == [.start(4)])
    }

    @Test("A full queue of one origin does not delay another, and all origins share the total limit")
    func origins() {
        var schedule = ExchangeSchedule(.init(total: 3, perOrigin: 2))
        submit(1...3, until: 1000, &schedule)
        submit(4...5, "b", until: 1000, &schedule)
        let first = schedule.actions(now: start)
        #expect(first.count == 3)
        for case .start(let id) in first { schedule.finished(id, now: start) }
        #expect(Set(first + schedule.actions(now: start)) == Set((1...5).map { .start(UInt64($0)) }))
    }

    @Test("A deadline ends running and waiting exchanges once, and not early")
    func deadlines() {
        var schedule = ExchangeSchedule(.init(total: 1, perOrigin: 1))
        submit(1...1, until: 100, &schedule)
        submit(2...2, until: 50, &schedule)
        submit(3...3, until: 200, &schedule)
        #expect(schedule.actions(now: start) == [.start(1)])
        #expect(schedule.pause(from: start) == .milliseconds(50))
        #expect(schedule.actions(now: at(49)) == [])
        #expect(schedule.actions(now: at(50)) == [.fail(2, .noConnection)])
        #expect(schedule.pause(from: at(50)) == .milliseconds(50))
        #expect(schedule.actions(now: at(150)) == [.fail(1, .timedOut), .start(3)])
        schedule.finished(3, now: start)
        #expect(schedule.pause(from: at(150)) == nil)
        #expect(schedule.actions(now: at(9999)) == [])
    }

    @Test("Canceling ends running and waiting exchanges; ended and unknown ones are ignored")
    func cancelling() {
        var schedule = ExchangeSchedule(.init(total: 1, perOrigin: 1))
        submit(1...3, until: 100, &schedule)
        #expect(schedule.actions(now: start) == [.start(1)])
        for id in [2, 2, 1, 7] { schedule.cancelled(UInt64(id), now: start) }
        #expect(schedule.actions(now: start) == [.fail(2, .cancelled), .fail(1, .cancelled), .start(3)])
        schedule.finished(3, now: start)
        schedule.cancelled(3, now: start)
        #expect(schedule.actions(now: start) == [])
    }

    @Test("Stopping lets exchanges finish until the deadline, then fails the rest")
    func stopping() {
        var schedule = ExchangeSchedule(.init(total: 1, perOrigin: 1))
        schedule.stop(at: at(500))
        #expect(schedule.isDone)
        submit(1...3, until: 1000, &schedule)
        #expect(!schedule.isDone)
        #expect(schedule.actions(now: start) == [.start(1)])
        #expect(schedule.pause(from: start) == .milliseconds(500))
        schedule.finished(1, now: start)
        #expect(schedule.actions(now: at(499)) == [.start(2)])
        schedule.stop(at: at(900))
        #expect(schedule.actions(now: at(500)) == [.fail(2, .shutDown), .fail(3, .shutDown)])
        #expect(schedule.isDone)
    }

    @Test("Owners take turns, so that one that floods does not delay another; within an owner the order stays")
    func owners() {
        var schedule = ExchangeSchedule(.init(total: 2, perOrigin: 2))
        submit(1...1_000, of: "flood", &schedule)
        #expect(schedule.actions(now: start) == [.start(1), .start(2)])
        submit(2_001...2_003, of: "quiet", &schedule)
        var started: [ExchangeSchedule.Action] = []
        for id in [1, 3, 2_001, 4, 2_002, 5] as [UInt64] {
            schedule.finished(id, now: start)
            started += schedule.actions(now: start)
        }
        #expect(started == [3, 2_001, 4, 2_002, 5, 2_003].map { .start($0) })
        // A canceled one loses its turn, and an owner without others leaves the line.
        schedule.cancelled(6, now: start)
        schedule.finished(2_003, now: start)
        #expect(schedule.actions(now: start) == [.fail(6, .cancelled), .start(7)])
    }

    /// Submits exchanges with an origin, and returns the number of those that start.
    private func started(
        _ count: Int, _ origin: String, of owner: String = "", isDelivery: Bool = false, from first: UInt64,
        _ schedule: inout ExchangeSchedule
    ) -> Int {
        for id in first..<first + UInt64(count) {
            schedule.submitted(
                .init(id, origin: origin, owner: owner, isDelivery: isDelivery, deadline: at(60_000)), now: start)
        }
        return schedule.actions(now: start).count
    }

    @Test("Deliveries have at most a quarter of the exchanges, however many targets hang, and the App Store the rest")
    func deliveries() {
        var schedule = ExchangeSchedule(.init(total: 64, perOrigin: 48))
        let deliveries = (0..<40).map { target in
            started(4, "target \(target)", isDelivery: true, from: UInt64(1_000 + 4 * target), &schedule)
        }
        #expect(deliveries.reduce(0, +) == 16)
        // A host of the App Store that hangs as well leaves a quarter of the rest to the other hosts.
        #expect(started(100, "a", from: 1, &schedule) == 36)
        #expect(started(100, "b", from: 200, &schedule) == 12)
        schedule.finished(1_000, now: start)
        #expect(schedule.actions(now: start).count == 1)
    }

    @Test("Without deliveries a host, or an only owner, has its whole limit; one target three quarters of their share")
    func shares() {
        var only = ExchangeSchedule(.init(total: 64, perOrigin: 32))
        #expect(started(100, "a", of: "app", from: 1, &only) == 32)
        var schedule = ExchangeSchedule(.init(total: 64, perOrigin: 48))
        #expect(started(100, "a", from: 1, &schedule) == 48)
        #expect(started(100, "target", isDelivery: true, from: 200, &schedule) == 12)
        #expect(started(100, "other target", isDelivery: true, from: 400, &schedule) == 4)
    }

    @Test("The exchanges of one owner that take long leave an eighth to the others, which start at once")
    func slowOwner() {
        var schedule = ExchangeSchedule(.init(total: 64, perOrigin: 32))
        #expect(started(1, "a", of: "quick", from: 1, &schedule) == 1)
        schedule.finished(1, now: start)
        #expect(started(100, "a", of: "slow", from: 100, &schedule) == 28)
        // Later than a second, in which nothing started.
        submit(2...4, of: "quick", now: 3_000, &schedule)
        #expect(schedule.actions(now: at(3_000)) == [.start(2), .start(3), .start(4)])
        #expect(started(1, "a", from: 5, &schedule) == 1)
    }

    @Test("Only some exchanges wait, and those of one owner leave room to the others; deliveries wait beside them")
    func waiting() {
        var schedule = ExchangeSchedule(.init(total: 2, perOrigin: 1, waiting: 16))
        // 11 are accepted, and one of them starts.
        #expect(started(40, "a", of: "flood", from: 1, &schedule) == 29 + 1)
        for (number, owner) in ["b", "b", "c", "d", "e", "f"].enumerated() {
            #expect(started(1, "a", of: owner, from: UInt64(50 + number), &schedule) == 0)
        }
        #expect(started(1, "a", of: "g", from: 60, &schedule) == 1)
        #expect(started(3, "target", isDelivery: true, from: 70, &schedule) == 1)
        schedule.finished(1, now: start)
        #expect(schedule.actions(now: start) == [.start(2)])
        #expect(started(1, "a", of: "flood", from: 80, &schedule) == 1)
        #expect(started(1, "a", of: "g", from: 90, &schedule) == 0)
    }

    @Test("Only some exchanges connect at once; the next starts when a connection is ready or has failed")
    func connecting() {
        var schedule = ExchangeSchedule(.init(total: 9, perOrigin: 9, connectingPerOrigin: 2))
        submit(1...5, until: 1_000, &schedule)
        #expect(schedule.actions(now: start) == [.start(1), .start(2)])
        schedule.connected(1)
        schedule.connected(1)
        #expect(schedule.actions(now: start) == [.start(3)])
        schedule.finished(2, now: start)
        #expect(schedule.actions(now: start) == [.start(4)])
        schedule.finished(1, now: start)
        #expect(schedule.actions(now: start) == [])
        schedule.connected(4)
        #expect(schedule.actions(now: start) == [.start(5)])
    }

    /// Submits exchanges at a constant rate to a host that takes a constant time, for some seconds. Returns what became
    /// of those of the last ten seconds, per second.
    private func load(
        perSecond rate: Int, seconds: Int, slots: Int, duration: Int, timeout: Int
    ) -> (answered: Int, refused: Int, late: Int) {
        var schedule = ExchangeSchedule(.init(total: slots, perOrigin: slots, connectingPerOrigin: slots))
        var ends: [(at: Int, id: UInt64)] = []
        var result = (answered: 0, refused: 0, late: 0)
        var last: UInt64 = 0
        let isCounted = { (id: UInt64) in id > UInt64(rate * (seconds - 10)) }
        for millisecond in 0..<(seconds * 1_000 + timeout) {
            while let end = ends.first, end.at <= millisecond {
                ends.removeFirst()
                schedule.finished(end.id, now: at(millisecond))
                if isCounted(end.id) { result.answered += 1 }
            }
            if millisecond < seconds * 1_000, millisecond * rate / 1_000 != (millisecond + 1) * rate / 1_000 {
                last += 1
                schedule.submitted(.init(last, origin: "a", deadline: at(millisecond + timeout)), now: at(millisecond))
            }
            for action in schedule.actions(now: at(millisecond)) {
                switch action {
                case .start(let id): ends.append((millisecond + duration, id))
                case .fail(let id, .noConnection): if isCounted(id) { result.refused += 1 }
                case .fail(let id, _):
                    ends.removeAll { $0.id == id }
                    if isCounted(id) { result.late += 1 }
                }
            }
        }
        return (result.answered / 10, result.refused / 10, result.late / 10)
    }

    @Test("A host that answers in time gets all requests; above its capacity the rest is refused instead of being late")
    func overload() {
        // 100 slots and 0.5 s are 200 a second.
        let below = load(perSecond: 190, seconds: 20, slots: 100, duration: 500, timeout: 3_000)
        #expect(below == (190, 0, 0))
        let above = load(perSecond: 400, seconds: 20, slots: 100, duration: 500, timeout: 3_000)
        #expect(above.late == 0 && (190...230).contains(above.answered), "\(above)")
        #expect((399...400).contains(above.answered + above.refused), "\(above)")
        let slow = load(perSecond: 50, seconds: 20, slots: 200, duration: 2_900, timeout: 3_000)
        #expect(slow == (50, 0, 0))
    }

    @Test("The queue does not grow if waiting exchanges come and go while one is stuck")
    func churn() {
        var schedule = ExchangeSchedule(.init(total: 1, perOrigin: 1))
        schedule.submitted(.init(0, origin: "a", deadline: at(1_000_000)), now: start)
        #expect(schedule.actions(now: start) == [.start(0)])
        for id in 1...20_000 as ClosedRange<UInt64> {
            schedule.submitted(.init(id, origin: "a", deadline: at(1_000_000)), now: start)
            schedule.cancelled(id, now: start)
            #expect(schedule.actions(now: start) == [.fail(id, .cancelled)])
        }
        schedule.submitted(.init(20_001, origin: "a", deadline: at(1_000_000)), now: start)
        schedule.finished(0, now: start)
        #expect(schedule.actions(now: start) == [.start(20_001)])
    }
}
