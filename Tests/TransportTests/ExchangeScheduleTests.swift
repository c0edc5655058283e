import Testing
import Transport

@Suite("Exchange schedule")
struct ExchangeScheduleTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("Exchanges start in order of arrival up to the limit, the next one when one has ended")
    func order() {
        var schedule = ExchangeSchedule(maximumRunning: 9, maximumPerOrigin: 2)
        for id in 1...4 { schedule.submitted(UInt64(id), origin: "a", deadline: at(1000)) }
        #expect(schedule.actions(now: start) == [.start(1), .start(2)])
        #expect(schedule.actions(now: start) == [])
        schedule.finished(2)
        #expect(schedule.actions(now: start) == [.start(3)])
        schedule.finished(1)
        schedule.finished(1)
        #expect(schedule.actions(now: start) == [.start(4)])
    }

    @Test("A full queue of one origin does not delay another, and all origins share the total limit")
    func origins() {
        var schedule = ExchangeSchedule(maximumRunning: 3, maximumPerOrigin: 2)
        for id in 1...3 { schedule.submitted(UInt64(id), origin: "a", deadline: at(1000)) }
        for id in 4...5 { schedule.submitted(UInt64(id), origin: "b", deadline: at(1000)) }
        let first = schedule.actions(now: start)
        #expect(first.count == 3)
        for case .start(let id) in first { schedule.finished(id) }
        #expect(Set(first + schedule.actions(now: start)) == Set((1...5).map { .start(UInt64($0)) }))
    }

    @Test("A deadline ends running and waiting exchanges once, and not early")
    func deadlines() {
        var schedule = ExchangeSchedule(maximumRunning: 1, maximumPerOrigin: 1)
        schedule.submitted(1, origin: "a", deadline: at(100))
        schedule.submitted(2, origin: "a", deadline: at(50))
        schedule.submitted(3, origin: "a", deadline: at(200))
        #expect(schedule.actions(now: start) == [.start(1)])
        #expect(schedule.pause(from: start) == .milliseconds(50))
        #expect(schedule.actions(now: at(49)) == [])
        #expect(schedule.actions(now: at(50)) == [.fail(2, .timedOut)])
        #expect(schedule.pause(from: at(50)) == .milliseconds(50))
        #expect(schedule.actions(now: at(150)) == [.fail(1, .timedOut), .start(3)])
        schedule.finished(3)
        #expect(schedule.pause(from: at(150)) == nil)
        #expect(schedule.actions(now: at(9999)) == [])
    }

    @Test("Canceling ends running and waiting exchanges; ended and unknown ones are ignored")
    func cancelling() {
        var schedule = ExchangeSchedule(maximumRunning: 1, maximumPerOrigin: 1)
        for id in 1...3 { schedule.submitted(UInt64(id), origin: "a", deadline: at(100)) }
        #expect(schedule.actions(now: start) == [.start(1)])
        for id in [2, 2, 1, 7] { schedule.cancelled(UInt64(id)) }
        #expect(schedule.actions(now: start) == [.fail(2, .cancelled), .fail(1, .cancelled), .start(3)])
        schedule.finished(3)
        schedule.cancelled(3)
        #expect(schedule.actions(now: start) == [])
    }

    @Test("Stopping lets exchanges finish until the deadline, then fails the rest")
    func stopping() {
        var schedule = ExchangeSchedule(maximumRunning: 1, maximumPerOrigin: 1)
        schedule.stop(at: at(500))
        #expect(schedule.isDone)
        for id in 1...3 { schedule.submitted(UInt64(id), origin: "a", deadline: at(1000)) }
        #expect(!schedule.isDone)
        #expect(schedule.actions(now: start) == [.start(1)])
        #expect(schedule.pause(from: start) == .milliseconds(500))
        schedule.finished(1)
        #expect(schedule.actions(now: at(499)) == [.start(2)])
        schedule.stop(at: at(900))
        #expect(schedule.actions(now: at(500)) == [.fail(2, .shutDown), .fail(3, .shutDown)])
        #expect(schedule.isDone)
    }

    @Test("The queue does not grow if waiting exchanges come and go while one is stuck")
    func churn() {
        var schedule = ExchangeSchedule(maximumRunning: 1, maximumPerOrigin: 1)
        schedule.submitted(0, origin: "a", deadline: at(1_000_000))
        #expect(schedule.actions(now: start) == [.start(0)])
        for id in 1...100_000 as ClosedRange<UInt64> {
            schedule.submitted(id, origin: "a", deadline: at(1_000_000))
            schedule.cancelled(id)
            #expect(schedule.actions(now: start) == [.fail(id, .cancelled)])
        }
        schedule.submitted(100_001, origin: "a", deadline: at(1_000_000))
        schedule.finished(0)
        #expect(schedule.actions(now: start) == [.start(100_001)])
    }
}
