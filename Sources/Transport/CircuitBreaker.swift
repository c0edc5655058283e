/// Whether a host is asked: a value, which is told the time and the dice.
///
/// Closed, every exchange may go. Too many failures open it, and none may; after a pause one may, the probe. When that
/// fails the next pause is twice as long, when it succeeds the breaker is closed again.
package struct CircuitBreaker: Sendable {
    /// When it opens, and for how long.
    package struct Policy: Sendable, Hashable {
        /// Failures without a success between them.
        package var failuresInRow: Int
        /// Of the exchanges that ended within the window: so many have to have failed, of at least so many.
        package var failureShare: Double
        package var leastExchanges: Int
        package var window: Duration
        /// The pause after the first opening, and the longest; half of each is by chance.
        package var firstPause: Duration
        package var longestPause: Duration
        /// A time-out says something of the host only where it had at least so long.
        package var fairTime: Duration

        /// Apple's hosts fail for seconds, seldom for hours.
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

    /// As metrics name it.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case closed, open, halfOpen
    }

    /// What an exchange told of the host.
    package enum Outcome: Sendable, Hashable {
        case success, failure
        /// Nothing: it was given up here, or never sent.
        case nothing
    }

    /// An exchange that may go; handed back with its outcome.
    package struct Ticket: Sendable, Hashable {
        fileprivate let generation: UInt64
        /// The one that is let through to see whether the host is back.
        package let isProbe: Bool
    }

    package enum Verdict: Sendable, Hashable {
        case go(Ticket)
        /// Not before so long.
        case wait(Duration)
    }

    private struct Count {
        var exchanges = 0
        var failures = 0
    }

    package private(set) var state = State.closed
    /// How often it opened, or stayed open after a probe.
    package private(set) var opened: Int64 = 0
    private let policy: Policy
    /// What began before the state changed says nothing of the time after.
    private var generation: UInt64 = 0
    private var failuresInRow = 0
    private var pauses = 0
    private var opensUntil: ContinuousClock.Instant?
    /// Of this window, and of the one before.
    private var counts = (now: Count(), before: Count())
    private var windowEnds: ContinuousClock.Instant?

    package init(_ policy: Policy) {
        self.policy = policy
    }

    /// Asks for one exchange.
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

    /// - Parameter random: 0..<1.
    package mutating func ended(
        _ ticket: Ticket, _ outcome: Outcome, at now: ContinuousClock.Instant, random: Double
    ) {
        guard ticket.generation == generation else { return }
        switch (state, outcome) {
        case (.closed, .nothing), (.open, _): break
        case (.closed, .success), (.closed, .failure):
            count(isFailure: outcome == .failure, at: now)
            if isTooMuch { open(at: now, random: random) }
        // Nobody knows yet: the next one is the probe.
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
