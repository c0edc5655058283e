/// A circuit breaker for one host. A value type without a clock or a random source: the caller passes both.
///
/// In the closed state every exchange is allowed. Too many failures open the breaker, and only probes are allowed: one
/// at a time, one in each ``Policy/probeInterval``. While the outcome of a probe is awaited, the breaker is half-open.
/// The first probe that succeeds closes it.
package struct CircuitBreaker: Sendable {
    /// The thresholds that open the breaker and the time between probes.
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
        /// The time from one probe to the next, and how long a probe is awaited. With the time to the next request, a
        /// host that has recovered is used again within two seconds. Half of the time to the first probe is random, so
        /// that servers do not probe together.
        package var probeInterval: Duration
        /// A timeout counts as a failure of the host only if the request had at least this much time.
        package var minimumTimeout: Duration

        package init(
            consecutiveFailures: Int = 5, failureShare: Double = 0.5, minimumExchanges: Int = 20,
            window: Duration = .seconds(10), probeInterval: Duration = .milliseconds(1_500),
            minimumTimeout: Duration = .seconds(1)
        ) {
            (self.consecutiveFailures, self.failureShare) = (consecutiveFailures, failureShare)
            (self.minimumExchanges, self.window) = (minimumExchanges, window)
            (self.probeInterval, self.minimumTimeout) = (probeInterval, minimumTimeout)
        }
    }

    /// The state; the raw value is used in metrics.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case closed, open, halfOpen
    }

    /// The result of an exchange with regard to the health of the host.
    package enum CallOutcome: Sendable, Hashable {
        case success, failure
        /// Says nothing about the host, because this process gave up or never sent the request.
        case inconclusive
    }

    /// Permission for one exchange. It is returned with the outcome of that exchange.
    package struct Ticket: Sendable, Hashable {
        fileprivate let generation: UInt64
        /// The number of the probe that tests whether the host has recovered; `nil` for other exchanges.
        fileprivate let probe: Int?
        fileprivate let isGenuine: Bool

        package var isProbe: Bool { probe != nil }
    }

    /// The decision about one exchange.
    package enum CallDecision: Sendable, Hashable {
        case allowed(Ticket)
        /// The breaker is open; the next attempt is possible after this duration.
        case wait(Duration)
    }

    /// The exchanges of a time by outcome, without successes of texts that are not genuine.
    private struct Count {
        var successes = 0
        var failures = 0
        /// Failures of texts that are not genuine.
        var foreignFailures = 0

        /// The failures that are evidence against the host. The sender of a text that is not genuine may have caused
        /// its failure, so such failures count at most as often as others.
        var evidence: Int { failures + min(foreignFailures, failures) }

        static func + (one: Count, other: Count) -> Count {
            Count(
                successes: one.successes + other.successes, failures: one.failures + other.failures,
                foreignFailures: one.foreignFailures + other.foreignFailures)
        }
    }

    package private(set) var state = State.closed
    package private(set) var opened: Int64 = 0
    private let policy: Policy
    /// Incremented when the breaker opens or closes, so that outcomes of exchanges from before are ignored.
    private var generation: UInt64 = 0
    private var probes = 0
    private var nextProbe: ContinuousClock.Instant?
    /// The failures since the last success.
    private var inARow = Count()
    private var counts = (current: Count(), previous: Count())
    private var windowEnds: ContinuousClock.Instant?

    /// The breaker begins closed.
    package init(_ policy: Policy) { self.policy = policy }

    /// Requests permission for one exchange. What is not genuine is no probe, and cannot open the breaker alone. A
    /// retry is no probe.
    package mutating func allow(
        at now: ContinuousClock.Instant, isGenuine: Bool = true, isRetry: Bool = false
    ) -> CallDecision {
        if state == .closed { return .allowed(Ticket(generation: generation, probe: nil, isGenuine: isGenuine)) }
        let wait = nextProbe.map { now.duration(to: $0) } ?? .zero
        guard state == .open, wait <= .zero, isGenuine, !isRetry else { return .wait(max(wait, .zero)) }
        state = .halfOpen
        probes += 1
        nextProbe = now + policy.probeInterval
        return .allowed(Ticket(generation: generation, probe: probes, isGenuine: true))
    }

    /// Records the outcome of an allowed exchange. The random number in 0..<1 is for the jitter of the first probe.
    package mutating func complete(
        _ ticket: Ticket, _ outcome: CallOutcome, at now: ContinuousClock.Instant, random: Double
    ) {
        guard ticket.generation == generation else { return }
        if state != .closed {
            // A probe that was given up can still show that the host responds.
            if outcome == .success { return close() }
            if outcome == .inconclusive, ticket.probe == probes { nextProbe = now }
            return stopAwaiting(ticket)
        }
        guard outcome != .inconclusive else { return }
        count(isFailure: outcome == .failure, ticket.isGenuine, at: now)
        if isOverThreshold { open(at: now, random: random) }
    }

    /// Makes the next exchange the probe if this one is the probe that is awaited.
    package mutating func stopAwaiting(_ ticket: Ticket) {
        if ticket.generation == generation, ticket.probe == probes, state == .halfOpen { state = .open }
    }

    /// Counts an outcome. A new window starts if the current one has ended.
    private mutating func count(isFailure: Bool, _ isGenuine: Bool, at now: ContinuousClock.Instant) {
        guard isFailure || isGenuine else { return }
        if windowEnds.map({ now >= $0 }) ?? true {
            let isNext = windowEnds.map { now < $0 + policy.window } ?? false
            counts = (current: Count(), previous: isNext ? counts.current : Count())
            windowEnds = now + policy.window
        }
        let path = !isFailure ? \Count.successes : isGenuine ? \.failures : \.foreignFailures
        counts.current[keyPath: path] += 1
        if isFailure { inARow[keyPath: path] += 1 } else { inARow = Count() }
    }

    /// So many consecutive failures open the breaker in any case.
    private static let manyFailures = 50

    private var isOverThreshold: Bool {
        let all = counts.current + counts.previous
        let exchanges = all.successes + all.evidence
        return inARow.evidence >= max(policy.consecutiveFailures, min(all.successes / 10, Self.manyFailures))
            || exchanges >= policy.minimumExchanges && Double(all.evidence) >= Double(exchanges) * policy.failureShare
    }

    /// Opens the breaker and makes earlier tickets invalid.
    private mutating func open(at now: ContinuousClock.Instant, random: Double) {
        state = .open
        opened += 1
        generation += 1
        nextProbe = now + policy.probeInterval / 2 * (1 + min(max(random, 0), 1))
    }

    private mutating func close() {
        state = .closed
        generation += 1
        inARow = Count()
        counts = (current: Count(), previous: Count())
    }
}
