import Testing
import Transport

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
        #expect(forecast.isAnswered(behind: ahead, within: remaining, at: at(5_000)) == isAnswered)
    }

    @Test("Nothing is predicted in the first second of a queue, nor from an earlier queue")
    func unknown() {
        var forecast = forecast(startsPerTenth: 1, until: 900, duration: .seconds(1))
        #expect(forecast.isAnswered(behind: 10_000, within: .milliseconds(1), at: at(999)))
        #expect(!forecast.isAnswered(behind: 10_000, within: .milliseconds(1), at: at(1_000)))
        forecast.queueEmptied()
        #expect(forecast.isAnswered(behind: 10_000, within: .milliseconds(1), at: at(1_100)))
        forecast.queueFormed(at: at(1_200))
        #expect(forecast.isAnswered(behind: 10_000, within: .milliseconds(1), at: at(1_300)))
    }

    @Test("If no exchange starts any more, a new one is not expected to be answered")
    func stuck() {
        var forecast = WaitForecast()
        forecast.queueFormed(at: start)
        #expect(!forecast.isAnswered(behind: 0, within: .seconds(8), at: at(1_500)))
    }
}
