import Base
import Notifications
import Storage
import Testing

@Suite("When a reconciliation begins, and what it asks about")
struct ReconciliationPlanTests {
    private static let day: Int64 = 86_400
    /// 2026-11-25T00:00:00Z
    private static let midnight: Int64 = 1_795_564_800

    private func at(_ hours: Double) -> Timestamp { Timestamp(seconds: Self.midnight + Int64(hours * 3_600)) }

    private func row(_ start: Double, end: Double? = nil, continues: Double? = nil) -> ReconciliationRow {
        var row = ReconciliationRow(startedAt: at(start), window: 3 * Self.day)
        row.endedAt = end.map(at)
        row.continuesAt = continues.map(at)
        return row
    }

    private func isDue(_ last: ReconciliationRow?, _ now: Double) -> Bool {
        ReconciliationSchedule(time: 4 * 3_600).isDue(after: last, at: at(now))
    }

    @Test("It begins once a day at the time of day, and later if no server ran at that time")
    func daily() {
        #expect(isDue(nil, 1))
        #expect(!isDue(row(-20, end: -19.5), 3.9))
        #expect(isDue(row(-20, end: -19.5), 4))
        #expect(isDue(row(-20, end: -19.5), 11))
        #expect(!isDue(row(11, end: 12), 23.9))
        #expect(!isDue(row(11, end: 12), 27.9))
        #expect(isDue(row(11, end: 12), 28))
        #expect(isDue(row(-200, end: -199), 1))
    }

    @Test("One that stopped early is continued at once, after failed calls ten minutes later, and not after a day")
    func continued() {
        #expect(isDue(row(4), 4.1))
        #expect(isDue(row(4, end: -20), 4.1))
        #expect(!isDue(row(4, continues: 4.5), 4.4))
        #expect(isDue(row(4, continues: 4.5), 4.5))
        #expect(ReconciliationSchedule.continuation(at: at(4)) == at(4 + 1.0 / 6))
        let window = 3 * Self.day
        #expect(ReconciliationSchedule.row(after: row(4, end: -20), window: window, at: at(5)) == row(4, end: -20))
        let others = [row(4, end: 4.5), row(-21)].map {
            ReconciliationSchedule.row(after: $0, window: window, at: at(5))
        }
        #expect(others == [row(5, end: 4.5), row(5)])
        #expect(ReconciliationSchedule.row(after: row(4), window: Self.day, at: at(5)).startedAt == at(5))
        // A clock that was set back does not stop it for ever.
        #expect(ReconciliationSchedule.row(after: row(40), window: window, at: at(5)).startedAt == at(5))
    }

    @Test(
        "It reads the history, then looks up who needs it, is about to end, was not paid, and was refunded"
    )
    func plan() {
        let plan = ReconciliationPlan(window: 3 * Self.day, at: at(0))
        #expect(plan.history.start == at(-72).advanced(by: .minutes(-2)) && plan.history.end == at(0))
        #expect(
            plan.lookupsBeforeRefunds == [
                .waiting,
                .ending(ReconciliationInterval(from: at(-72), to: at(72))),
                .ending(ReconciliationInterval(from: at(-72 - 60 * 24), to: at(-72), isOnlyUnpaid: true)),
            ])
        #expect(plan.lookupsAfterRefunds == [.waiting])
    }
}
