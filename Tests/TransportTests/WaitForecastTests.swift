import Testing
import ReceiptBridgeTransport

@Suite("Forecast of the wait for a connection")
struct WaitForecastTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    /// A queue since the start with so many exchanges started every 100 ms, each of which takes so long.
    private func forecast(startsPerTenth: Int, until end: Int, duration: Duration) -> WaitForecast {
        var forecast = WaitForecast()
        forecast.queueFormed(at: start)
        for tenth in stride(from: 0, to: end, by: 100) {
            for _ in 0..<startsPerTenth {
                forecast.started(at: at(tenth))
                forecast.ended(after: duration)
            }
        }
        return forecast
    }

    @Test(
        "The wait is the number of requests ahead divided by the measured rate; with the response it must leave a fifth",
        arguments: [
            (30, 890, Duration.milliseconds(4_400), true), (30, 890, .milliseconds(4_200), false),
            (10, 0, .milliseconds(700), true), (10, 0, .milliseconds(500), false), (10, 100, .seconds(1), false),
        ])
    func wait(startsPerTenth: Int, ahead: Int, remaining: Duration, isAnswered: Bool) {
        let forecast = forecast(startsPerTenth: startsPerTenth, until: 5_000, duration: .milliseconds(500))
        let isExpected = forecast.isAnswered(behind: ahead, of: startsPerTenth * 5, within: remaining, at: at(5_000))
        #expect(isExpected == isAnswered)
    }

    @Test("Nothing is predicted in the first second of a queue, nor from an earlier queue")
    func unknown() {
        var forecast = forecast(startsPerTenth: 1, until: 900, duration: .seconds(1))
        #expect(forecast.isAnswered(behind: 10_000, of: 10, within: .milliseconds(1), at: at(999)))
        #expect(!forecast.isAnswered(behind: 10_000, of: 10, within: .milliseconds(1), at: at(1_000)))
        forecast.queueEmptied()
        #expect(forecast.isAnswered(behind: 10_000, of: 10, within: .milliseconds(1), at: at(1_100)))
        forecast.queueFormed(at: at(1_200))
        #expect(forecast.isAnswered(behind: 10_000, of: 10, within: .milliseconds(1), at: at(1_300)))
    }

    @Test(
        "A host that is merely slow is given the time that it has needed so far: 64 exchanges of an unknown duration",
        arguments: [
            // Time since the queue formed in ms, starts in it, requests ahead; with 8 s left.
            (1_500, 0, 0, true), (1_500, 0, 136, true), (2_000, 0, 136, true), (2_100, 0, 136, false),
            (1_500, 0, 300, false), (3_000, 0, 64, true), (6_200, 0, 0, true), (6_400, 0, 0, false),
            // A few that are fast do not count for those that are slow.
            (1_500, 3, 136, true), (2_100, 3, 136, false),
        ])
    func slow(elapsed: Int, starts: Int, ahead: Int, isAnswered: Bool) {
        var forecast = WaitForecast()
        forecast.queueFormed(at: start)
        for _ in 0..<starts {
            forecast.started(at: at(100))
            forecast.ended(after: .milliseconds(20))
        }
        #expect(forecast.isAnswered(behind: ahead, of: 64, within: .seconds(8), at: at(elapsed)) == isAnswered)
    }

    @Test("After exchanges that ended by their deadline nothing is expected of the host")
    func hanging() {
        var forecast = WaitForecast()
        for _ in 0..<64 { forecast.ended(after: .seconds(8)) }
        forecast.queueFormed(at: start)
        #expect(!forecast.isAnswered(behind: 0, of: 64, within: .seconds(8), at: at(1_000)))
    }
}
