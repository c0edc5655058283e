import Testing
import Transport

@Suite("Circuit breaker")
struct CircuitBreakerTests {
    /// Runs a script of exchanges, a tenth of a second each: `s`uccess, `f`ailure, `n`othing. A digit lets that many
    /// seconds pass. Returns the state after each exchange, `c`losed, `o`pen or `h`alf-open, or `-` if it was not
    /// allowed.
    private func run(_ script: String, random: Double = 0) -> String {
        var breaker = CircuitBreaker(.init())
        var now = ContinuousClock.now
        var states = ""
        for letter in script where letter != " " {
            if let seconds = letter.wholeNumberValue {
                now += .seconds(seconds)
                continue
            }
            guard case .allowed(let ticket) = breaker.allow(at: now) else {
                states += "-"
                continue
            }
            now += .milliseconds(100)
            let outcome: CircuitBreaker.Outcome = letter == "s" ? .success : letter == "f" ? .failure : .inconclusive
            breaker.complete(ticket, outcome, at: now, random: random)
            states += String(breaker.state.rawValue.prefix(1))
        }
        return states
    }

    @Test(
        "The breaker opens after 5 consecutive failures or 50 % of 20 exchanges, and closes after a successful probe",
        arguments: [
            ("ssss", "cccc"),
            ("fffff", "cccco"),
            ("ffffsffff", "ccccccccc"),
            ("ffffnf", "ccccco"),
            // Half of twenty opens the breaker; half of nineteen does not, nor do failures outside the window.
            ("fs fs fs fs fs fs fs fs fs ss", String(repeating: "c", count: 20)),
            ("fs fs fs fs fs fs fs fs fs ff", String(repeating: "c", count: 19) + "o"),
            ("fs fs fs fs fs fs fs fs fs 9 9 9 ff", String(repeating: "c", count: 20)),
            // The first pause is at least half a second.
            ("fffff s", "cccco-"),
            ("fffff 1 s", "ccccoc"),
            ("fffff 1 f s 1 s", "ccccoo-c"),
            ("fffff 1 s fffff 1 s", "cccco" + "c" + "cccco" + "c"),
            // A probe without a result says nothing, so the next exchange is the probe.
            ("fffff 1 n s", "ccccooc"),
        ])
    func states(script: String, expected: String) { #expect(run(script) == expected) }

    @Test("After a hundred successes, ten failures in a row open the breaker, and nine do not")
    func busyHost() {
        let before = String(repeating: "s", count: 100)
        let closed = String(repeating: "c", count: 100)
        #expect(run(before + "fffffffff s") == closed + "cccccccccc")
        #expect(run(before + "ffffffffff") == closed + "ccccccccco")
    }

    @Test("The pause doubles after each failed probe, half of it random, up to 30 s")
    func pauses() {
        for (random, expected) in [(0.0, [0.5, 1, 2, 4, 8, 15, 15, 15]), (1, [1, 2, 4, 8, 16, 30, 30, 30])] {
            var breaker = CircuitBreaker(.init(consecutiveFailures: 1))
            var now = ContinuousClock.now
            var pauses: [Double] = []
            for _ in expected {
                guard case .allowed(let ticket) = breaker.allow(at: now) else { break }
                breaker.complete(ticket, .failure, at: now, random: random)
                guard case .wait(let pause) = breaker.allow(at: now) else { break }
                pauses.append(pause / .seconds(1))
                now += pause
            }
            #expect(pauses == expected)
            #expect(breaker.opened == Int64(expected.count))
        }
    }

    @Test("Only one probe is allowed, and outcomes of exchanges from before the breaker opened are ignored")
    func oneProbe() {
        var breaker = CircuitBreaker(.init(consecutiveFailures: 2))
        let start = ContinuousClock.now
        let tickets = (0..<4).compactMap { _ in ticket(&breaker, start) }
        breaker.complete(tickets[0], .failure, at: start, random: 0)
        breaker.complete(tickets[1], .failure, at: start, random: 0)
        #expect(breaker.state == .open)
        let later = start + .seconds(1)
        let probe = ticket(&breaker, later)
        #expect(probe?.isProbe == true && breaker.state == .halfOpen)
        #expect(ticket(&breaker, later) == nil)
        breaker.complete(tickets[2], .success, at: later, random: 0)
        #expect(breaker.state == .halfOpen)
        if let probe { breaker.complete(probe, .success, at: later, random: 0) }
        #expect(breaker.state == .closed && breaker.opened == 1)
        breaker.complete(tickets[3], .failure, at: later, random: 0)
        let one = ticket(&breaker, later)
        if let one { breaker.complete(one, .failure, at: later, random: 0) }
        #expect(breaker.state == .closed)
    }

    private func ticket(_ breaker: inout CircuitBreaker, _ now: ContinuousClock.Instant) -> CircuitBreaker.Ticket? {
        if case .allowed(let ticket) = breaker.allow(at: now) { ticket } else { nil }
    }

    @Test("The retry budget is a fifth of the first attempts, and ten if there are few")
    func retryBudget() {
        let now = ContinuousClock.now
        func granted(_ budget: inout RetryBudget, of count: Int, at now: ContinuousClock.Instant) -> Int {
            (0..<count).count { _ in budget.consume(at: now) }
        }
        var budget = RetryBudget()
        #expect(granted(&budget, of: 100, at: now) == 10)
        #expect(granted(&budget, of: 100, at: now + .seconds(3)) == 3)
        for _ in 0..<200 { budget.recordFirstAttempt() }
        #expect((39...40).contains(granted(&budget, of: 100, at: now + .seconds(3))))
        for _ in 0..<10_000 { budget.recordFirstAttempt() }
        #expect((99...100).contains(granted(&budget, of: 1_000, at: now + .seconds(3))))
    }
}
