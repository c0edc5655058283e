/// A circuit breaker for one host. A value type without a clock or a random source: the caller passes both.
///
/// In the closed state every exchange is allowed. Too many failures open the breaker, and no exchange is allowed.
/// After a pause it is half-open and allows a single exchange, the probe. If the probe fails, the breaker opens again
/// and the next pause is twice as long. If it succeeds, the breaker closes.
package struct CircuitBreaker: Sendable {
    /// The thresholds that open the breaker and the length of its pauses.
    package struct Policy: Sendable, Hashable {
        /// The number of consecutive failures that opens the breaker.
        package var failuresInRow: Int
        /// The share of failed exchanges that opens the breaker, counted over the current and the previous window.
        /// Only applies if at least ``leastExchanges`` ended in that time.
        package var failureShare: Double
        package var leastExchanges: Int
        package var window: Duration
        /// The pause after the breaker first opens, and the maximum. Half of each pause is random.
        package var firstPause: Duration
        package var longestPause: Duration
        /// A timeout counts as a failure of the host only if the request had at least this much time.
        package var fairTime: Duration

        /// The defaults are short because Apple's hosts usually fail for seconds and seldom for hours.
        package init(
            failuresInRow: Int = 5, failureShare: Double = 0.5, leastExchanges: Int = 20,
            window: Duration = .seconds(10), firstPause: Duration = .seconds(1), longestPause: Duration = .seconds(30),
            fairTime: Duration = .seconds(1)
        ) {
            self.failuresInRow = failuresInRow
            self.failureShare = failureShare
            self.leastExchanges = leastExchanges
            self.window = window
            self.firstPause = firstPause
            self.longestPause = longestPause
            self.fairTime = fairTime
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
        case nothing
    }

    /// Permission for one exchange. It is returned with the outcome of that exchange.
    package struct Ticket: Sendable, Hashable {
        fileprivate let generation: UInt64
        /// True for the single exchange that tests whether the host has recovered.
        package let isProbe: Bool
    }

    /// The decision about one exchange.
    package enum Verdict: Sendable, Hashable {
        case go(Ticket)
        /// The breaker is open; the next attempt is possible after this duration.
        case wait(Duration)
    }

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
    private var failuresInRow = 0
    private var pauses = 0
    private var opensUntil: ContinuousClock.Instant?
    /// The counts of the current and of the previous window.
    private var counts = (now: Count(), before: Count())
    private var windowEnds: ContinuousClock.Instant?

    /// Creates a closed breaker.
    package init(_ policy: Policy) {
        self.policy = policy
    }

    /// Requests permission for one exchange.
    package mutating func allow(at now: ContinuousClock.Instant) -> Verdict {
        switch state {
        case .closed: return .go(Ticket(generation: generation, isProbe: false))
        case .halfOpen: return .wait(policy.firstPause)
        case .open:
            if let opensUntil, now < opensUntil { return .wait(now.duration(to: opensUntil)) }
            change(to: .halfOpen)
            return .go(Ticket(generation: generation, isProbe: true))
        }
    }

    /// Records the outcome of an allowed exchange.
    ///
    /// - Parameter random: A number in 0..<1, for the jitter of the pause.
    package mutating func ended(
        _ ticket: Ticket, _ outcome: Outcome, at now: ContinuousClock.Instant, random: Double
    ) {
        guard ticket.generation == generation else { return }
        switch (state, outcome) {
        case (.closed, .nothing), (.open, _): break
        case (.closed, .success), (.closed, .failure):
            count(isFailure: outcome == .failure, at: now)
            if isTooMuch { open(at: now, random: random) }
        // The probe gave no result, so the next exchange becomes the probe.
        case (.halfOpen, .nothing): change(to: .open)
        case (.halfOpen, .success):
            pauses = 0
            change(to: .closed)
        case (.halfOpen, .failure): open(at: now, random: random)
        }
    }

    private mutating func count(isFailure: Bool, at now: ContinuousClock.Instant) {
        failuresInRow = isFailure ? failuresInRow + 1 : 0
        if windowEnds.map({ now >= $0 }) ?? true {
            let isNext = windowEnds.map { now < $0 + policy.window } ?? false
            counts = (now: Count(), before: isNext ? counts.now : Count())
            windowEnds = now + policy.window
        }
        counts.now.exchanges += 1
        if isFailure { counts.now.failures += 1 }
    }

    private var isTooMuch: Bool {
        let exchanges = counts.now.exchanges + counts.before.exchanges
        let failures = counts.now.failures + counts.before.failures
        return failuresInRow >= policy.failuresInRow
            || exchanges >= policy.leastExchanges && Double(failures) >= Double(exchanges) * policy.failureShare
    }

    private mutating func open(at now: ContinuousClock.Instant, random: Double) {
        let whole = min(policy.firstPause * (1 << min(pauses, 20)), policy.longestPause)
        opensUntil = now + whole / 2 + whole / 2 * min(max(random, 0), 1)
        pauses += 1
        opened += 1
        change(to: .open)
    }

    private mutating func change(to state: State) {
        self.state = state
        generation += 1
        failuresInRow = 0
        counts = (now: Count(), before: Count())
    }
}
