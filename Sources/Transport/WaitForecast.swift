/// Predicts how long a new request waits for a connection to its host, from what was measured while requests waited.
///
/// A value without a clock. While a queue is not empty, it counts the exchanges that start, because those are what the
/// queue shrinks by. For example, with 900 requests ahead and 300 starts in the last second, a new one waits 3 s.
///
/// If exchanges take longer than was measured, those in flight often end together. For example, with 64 of 2 s each
/// none starts for 2 s, and then 64 do. So the host is also given the time that it has needed so far.
package struct WaitForecast: Sendable {
    /// The shortest time of measuring that allows a prediction.
    private static let window = Duration.seconds(1)
    /// Responses take longer than expected as often as not, and one that is late is of no use.
    private static let margin = 1.25
    /// The weight of a new exchange in the mean duration.
    private static let weight = 1.0 / 16

    /// When the queue was formed; `nil` while no request waits.
    private var formed: ContinuousClock.Instant?
    /// When the present window of measuring began; `nil` while no request waits.
    private var begin: ContinuousClock.Instant?
    /// The exchanges that started in the present window.
    private var starts = 0
    /// Starts per second in the window before.
    private var previousRate: Double?
    /// The mean duration of an exchange in seconds, without its wait; recent ones weigh more.
    private var meanDuration = 0.0

    package init() {}

    package mutating func queueFormed(at now: ContinuousClock.Instant) {
        guard begin == nil else { return }
        (formed, begin, starts, previousRate) = (now, now, 0, nil)
    }

    /// Records that no request waits any more. The rate of an empty queue is that of the arrivals and predicts nothing.
    package mutating func queueEmptied() { (formed, begin) = (nil, nil) }

    package mutating func started(at now: ContinuousClock.Instant) {
        guard let begin else { return }
        let elapsed = begin.duration(to: now)
        if elapsed >= Self.window {
            previousRate = Double(starts) / (elapsed / .seconds(1))
            (self.begin, starts) = (now, 0)
        }
        starts += 1
    }

    /// Records that an exchange ended, this long after it was started.
    package mutating func ended(after duration: Duration) {
        let seconds = duration / .seconds(1)
        meanDuration = meanDuration == 0 ? seconds : meanDuration + (seconds - meanDuration) * Self.weight
    }

    /// Returns whether a new request can be expected to be answered before its deadline, which remains: true until
    /// there is a measurement. The requests ahead start before it, and `running` exchanges are in flight.
    package func isAnswered(
        behind ahead: Int, of running: Int, within remaining: Duration, at now: ContinuousClock.Instant
    ) -> Bool {
        guard let rate = rate(at: now), let formed else { return true }
        let measured = rate == 0 ? .infinity : Double(ahead + 1) / rate + meanDuration
        // If each of those in flight, which began before the queue, ends now, and the next ones take as long.
        let duration = max(meanDuration, formed.duration(to: now) / .seconds(1))
        let assumed = (Double(ahead + 1) / Double(max(running, 1)) + 1) * duration
        return min(measured, assumed) * Self.margin <= remaining / .seconds(1)
    }

    /// Starts per second over about the last second; `nil` in the first second of a queue.
    private func rate(at now: ContinuousClock.Instant) -> Double? {
        guard let begin else { return nil }
        let elapsed = begin.duration(to: now) / Self.window
        guard elapsed < 1 else { return Double(starts) / (begin.duration(to: now) / .seconds(1)) }
        return previousRate.map { $0 * (1 - elapsed) + Double(starts) / (Self.window / .seconds(1)) }
    }
}
