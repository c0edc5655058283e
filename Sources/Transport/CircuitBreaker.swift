/// A circuit breaker for one host. A value type without a clock or a random source: the caller passes both.
///
/// In the closed state every exchange is allowed. Too many failures open the breaker, and no exchange is allowed.
/// After a pause it is half-open and allows a single exchange, the probe. If the probe fails, the breaker opens again
/// and the next pause is twice as long. If it succeeds, the breaker closes.
package struct CircuitBreaker: Sendable {
    /// The thresholds that open the breaker and the length of its pauses.
    package struct Policy: Sendable, Hashable {
        /// The number of consecutive failures that opens the breaker. With more than ten times as many successes in
        /// the current and the previous window, it is a tenth of these, at most ``manyFailures``: if one of three
        /// exchanges of a busy host fails, five in a row happen every minute.
        package var consecutiveFailures: Int
        /// The share of failed exchanges that opens the breaker, counted over the current and the previous window.
        /// Only applies if at least ``minimumExchanges`` ended in that time.
        var failureShare: Double
        var minimumExchanges: Int
        package var window: Duration
        /// The pause after the breaker first opens, and the maximum. Half of each pause is random.
        package var firstPause: Duration
        package var longestPause: Duration
        /// A timeout counts as a failure of the host only if the request had at least this much time.
        package var minimumTimeout: Duration

        /// The defaults are short because Apple's hosts usually fail for seconds and seldom for hours.
        package init(
            consecutiveFailures: Int = 5, failureShare: Double = 0.5, minimumExchanges: Int = 20,
            window: Duration = .seconds(10), firstPause: Duration = .seconds(1), longestPause: Duration = .seconds(30),
            minimumTimeout: Duration = .seconds(1)
        ) {
            self.consecutiveFailures = consecutiveFailures
            self.failureShare = failureShare
            self.minimumExchanges = minimumExchanges
            self.window = window
            self.firstPause = firstPause
            self.longestPause = longestPause
            self.minimumTimeout = minimumTimeout
        }
    }

    /// The state; the raw value is used in metrics.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case closed, open, halfOpen
    }

    /// The result of an exchange with regard to the health of the host.
    package enum Outcome: Sendable, Hashable {
        case success, failure
        /// Says nothing about the host, because this process gave up or never sent the request.
        case inconclusive
    }

    /// Permission for one exchange. It is returned with the outcome of that exchange.
    package struct Ticket: Sendable, Hashable {
        fileprivate let generation: UInt64
        /// True for the single exchange that tests whether the host has recovered.
        package let isProbe: Bool
    }

    /// The decision about one exchange.
    package enum Decision: Sendable, Hashable {
        case allowed(Ticket)
        /// The breaker is open; the next attempt is possible after this duration.
        case wait(Duration)
    }

    /// The number of exchanges in one window, and how many of them failed.
    private struct Count {
        var exchanges = 0
        var failures = 0
    }

    package private(set) var state = State.closed
    /// The number of times the breaker opened, including after failed probes.
    package private(set) var opened: Int64 = 0
    private let policy: Policy
    /// Incremented with every change of state, so that outcomes of exchanges from before the change are ignored.
    private var generation: UInt64 = 0
    private var consecutiveFailures = 0
    private var pauses = 0
    private var openUntil: ContinuousClock.Instant?
    /// The counts of the current and of the previous window.
    private var counts = (current: Count(), previous: Count())
    private var windowEnds: ContinuousClock.Instant?

    /// Creates a closed breaker.
    package init(_ policy: Policy) {
        self.policy = policy
    }

    /// Requests permission for one exchange.
    package mutating func allow(at now: ContinuousClock.Instant) -> Decision {
        switch state {
        case .closed: return .allowed(Ticket(generation: generation, isProbe: false))
        case .halfOpen: return .wait(policy.firstPause)
        case .open:
            if let openUntil, now < openUntil { return .wait(now.duration(to: openUntil)) }
            change(to: .halfOpen)
            return .allowed(Ticket(generation: generation, isProbe: true))
        }
    }

    /// Records the outcome of an allowed exchange.
    ///
    /// - Parameter random: A number in 0..<1, for the jitter of the pause.
    package mutating func complete(
        _ ticket: Ticket, _ outcome: Outcome, at now: ContinuousClock.Instant, random: Double
    ) {
        guard ticket.generation == generation else { return }
        switch (state, outcome) {
        case (.closed, .inconclusive), (.open, _): break
        case (.closed, .success), (.closed, .failure):
            count(isFailure: outcome == .failure, at: now)
            if isOverThreshold { open(at: now, random: random) }
        // The probe gave no result, so the next exchange becomes the probe.
        case (.halfOpen, .inconclusive): change(to: .open)
        case (.halfOpen, .success):
            pauses = 0
            change(to: .closed)
        case (.halfOpen, .failure): open(at: now, random: random)
        }
    }

    /// Counts an outcome. A new window starts if the current one has ended.
    private mutating func count(isFailure: Bool, at now: ContinuousClock.Instant) {
        consecutiveFailures = isFailure ? consecutiveFailures + 1 : 0
        if windowEnds.map({ now >= $0 }) ?? true {
            let isNext = windowEnds.map { now < $0 + policy.window } ?? false
            counts = (current: Count(), previous: isNext ? counts.current : Count())
            windowEnds = now + policy.window
        }
        counts.current.exchanges += 1
        if isFailure { counts.current.failures += 1 }
    }

    /// So many consecutive failures open the breaker in any case.
    private static let manyFailures = 50

    private var isOverThreshold: Bool {
        let exchanges = counts.current.exchanges + counts.previous.exchanges
        let failures = counts.current.failures + counts.previous.failures
        let inARow = max(policy.consecutiveFailures, min((exchanges - failures) / 10, Self.manyFailures))
        return consecutiveFailures >= inARow
            || exchanges >= policy.minimumExchanges && Double(failures) >= Double(exchanges) * policy.failureShare
    }

    /// Opens the breaker. The pause doubles with each opening until a probe succeeds.
    private mutating func open(at now: ContinuousClock.Instant, random: Double) {
        let pause = min(policy.firstPause * (1 << min(pauses, 20)), policy.longestPause)
        openUntil = now + pause / 2 + pause / 2 * min(max(random, 0), 1)
        pauses += 1
        opened += 1
        change(to: .open)
    }

    /// Changes the state, forgets all counts and makes earlier tickets invalid.
    private mutating func change(to state: State) {
        self.state = state
        generation += 1
        consecutiveFailures = 0
        counts = (current: Count(), previous: Count())
    }
}
