/// Decides how many idle connections stay open: as many as were in use at the same time within the last minute.
///
/// A value without a clock. libcurl itself closes idle connections only when a new request looks for one.
package struct IdleConnectionPolicy: Sendable {
    /// The most exchanges at the same time within this and the previous period count.
    private static let period = Duration.seconds(30)

    private var periodEnds: ContinuousClock.Instant
    private var most = (current: 0, previous: 0)
    private var isClosed = true

    package init(at now: ContinuousClock.Instant) { periodEnds = now + Self.period }

    package mutating func running(_ count: Int) {
        most.current = max(most.current, count)
        isClosed = false
    }

    /// Returns how many connections to keep at most, including those in use. `nil` if nothing has changed; 0 once, if
    /// none was used for a while. To be called at least at the end of each period.
    package mutating func limit(running count: Int, at now: ContinuousClock.Instant) -> Int? {
        guard now >= periodEnds else { return nil }
        periodEnds = now + Self.period
        let needed = max(most.current, most.previous)
        most = (current: count, previous: most.current)
        if needed > 0 { return needed }
        defer { isClosed = true }
        return isClosed ? nil : 0
    }

    package func pause(from now: ContinuousClock.Instant) -> Duration { max(now.duration(to: periodEnds), .zero) }
}
