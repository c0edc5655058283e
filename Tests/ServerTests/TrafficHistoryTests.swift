import ReceiptBridgeComparison
import ReceiptBridgeServer
import Testing

@Suite("Counts of the last hour")
struct TrafficHistoryTests {
    private static func sample(_ minutes: Int, _ answered: Int64, retried: Int64 = 0) -> TrafficSample {
        TrafficSample(age: .seconds(60 * minutes), answered: answered, genuine: answered - retried, retried: retried)
    }

    @Test("The hour begins with the newest sample that is an hour old, and its steps add up to it")
    func hour() {
        let history = TrafficHistory { TrafficSample() }
        // One response a minute, from the first hour on ten, and none in the last ten minutes.
        for minute in 1...150 {
            history.record(Self.sample(minute, Int64(minute <= 60 ? minute : 60 + 10 * (min(minute, 140) - 60))))
        }
        let trend = history.trend(until: Self.sample(150, 860))
        #expect(trend.total == TrafficSample(age: .seconds(3_600), answered: 500, genuine: 500))
        #expect(trend.steps.map(\.answered) == Array(repeating: 50, count: 10) + [0, 0])
    }

    @Test("Before the first hour is over, the counts are those since the start")
    func young() {
        let history = TrafficHistory { TrafficSample() }
        for minute in 1...7 { history.record(Self.sample(minute, Int64(minute), retried: 1)) }
        let trend = history.trend(until: Self.sample(7, 9, retried: 2))
        #expect(trend.total == Self.sample(7, 9, retried: 2))
        #expect(trend.steps.map(\.answered) == Array(repeating: 0, count: 10) + [2, 7])
        #expect(trend.steps.map(\.retried).reduce(0, +) == 2)
    }

    @Test("No count is below 0 after an app was removed")
    func removed() {
        let history = TrafficHistory { TrafficSample() }
        history.record(Self.sample(1, 100))
        #expect(history.trend(until: Self.sample(70, 30)).total.answered == 0)
    }

    @Test(
        "A share of few has no decimals, and is 0 % or 100 % only if it is exact",
        arguments: [
            (40, 45, "89 %"), (1, 9_000, "< 1 %"), (8_999, 9_000, "> 99 %"), (0, 7, "0 %"), (7, 7, "100 %"),
            (0, 0, "–"), (12_345, 20_000, "61.73 %"),
        ])
    func shares(count: Int64, whole: Int64, text: String) { #expect(count.part(of: whole) == text) }
}
