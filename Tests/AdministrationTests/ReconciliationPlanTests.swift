import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
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

    @Test("One that stopped early is continued at once, after failed calls at a later time, and not after a day")
    func continued() {
        #expect(isDue(row(4), 4.1))
        #expect(isDue(row(4, end: -20), 4.1))
        #expect(!isDue(row(4, continues: 4.5), 4.4))
        #expect(isDue(row(4, continues: 4.5), 4.5))
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

    @Test("It looks up who is about to end, and who was not paid")
    func ending() {
        #expect(
            ReconciliationPlan(window: 3 * Self.day, at: at(0)).ending == [
                ReconciliationInterval(from: at(-72), to: at(72)),
                ReconciliationInterval(from: at(-72 - 60 * 24), to: at(-72), isOnlyUnpaid: true),
            ])
    }

    /// The window of 3 days is read in 49 windows of an hour and a half: clocks differ by up to two minutes.
    @Test("The history is read from where the reconciliation was, and not from before Apple's limit")
    func history() throws {
        func windows(
            _ days: Int64, _ environment: AppStoreEnvironment, from position: Timestamp?
        ) -> [HistoryWindows.Window] {
            var rest = ReconciliationPlan(window: days * Self.day, at: at(0)).history(
                in: environment, readUntil: position)
            var windows: [HistoryWindows.Window] = []
            while let window = rest.next() { windows.append(window) }
            return windows
        }
        let whole = windows(3, .production, from: nil)
        #expect(whole.count == 49 && whole.last?.end == at(0))
        #expect(
            whole.first == .init(start: at(-72).advanced(by: .minutes(-2)), end: at(-70.5).advanced(by: .minutes(-2))))
        let rest = windows(3, .production, from: at(-1))
        #expect(rest == [.init(start: at(-1).advanced(by: .minutes(-2)), end: at(0))])
        #expect(windows(3, .production, from: at(-200)) == whole)
        #expect(windows(30, .sandbox, from: nil).first?.start == at(-30 * 24).advanced(by: .minutes(1)))
    }

    static let failures: [(UpstreamError.Code, retryAfter: Duration?, inARow: Int, pause: Duration?)] = [
        (.unauthorized, nil, 1, .minutes(10)), (.privateKey, nil, 1, .minutes(10)),
        (.budgetSpent, .seconds(90), 1, .seconds(90)), (.budgetSpent, .seconds(7_200), 1, .minutes(10)),
        (UpstreamError.Code(rawValue: "connectFailed"), nil, 1, .minutes(1)),
        (UpstreamError.Code(rawValue: "circuitOpen"), nil, 1, .minutes(1)), (.deadline, nil, 11, nil),
        (.deadline, nil, 12, .minutes(1)), (.emptyHistory, nil, 12, .minutes(10)),
    ]

    @Test(
        "After an outage calls go on within a minute, and after what only a person can mend within ten",
        arguments: failures)
    func pauses(code: UpstreamError.Code, retryAfter: Duration?, inARow: Int, pause: Duration?) {
        let error = UpstreamError(code, at: "a", "b", retryAfter: retryAfter)
        #expect(AppFailures.pause(after: error, inARow: inARow) == pause)
    }
}
