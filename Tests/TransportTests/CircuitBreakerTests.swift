import Testing
import ReceiptBridgeTransport

@Suite("Circuit breaker")
struct CircuitBreakerTests {
    /// Runs a script of exchanges, a tenth of a second each: `s`uccess, `f`ailure, `n`othing; `S` and `F` of a text
    /// that is not genuine, `r` a retry that succeeds. A digit lets that many seconds pass. Returns the state after
    /// each exchange, `c`losed, `o`pen or `h`alf-open, or `-` if it was not allowed.
    private func run(_ script: String, random: Double = 0) -> String {
        var breaker = CircuitBreaker(.init())
        var now = ContinuousClock.now
        var states = ""
        for letter in script where letter != " " {
            if let seconds = letter.wholeNumberValue {
                now += .seconds(seconds)
                continue
            }
            let decision = breaker.allow(at: now, isGenuine: !letter.isUppercase, isRetry: letter == "r")
            guard case .allowed(let ticket) = decision else {
                states += "-"
                continue
            }
            now += .milliseconds(100)
            let outcomes: [Character: CircuitBreaker.CallOutcome] = ["n": .inconclusive, "f": .failure, "F": .failure]
            let outcome = outcomes[letter] ?? .success
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
            // The first probe is at least 0.75 s after the opening, and the others 1.5 s after the previous one.
            ("fffff s", "cccco-"),
            ("fffff 1 s", "ccccoc"),
            ("fffff 1 f s 1 s 1 s", "ccccoo--c"),
            ("fffff 1 s fffff 1 s", "cccco" + "c" + "cccco" + "c"),
            // A probe without a result says nothing, so the next exchange is the probe.
            ("fffff 1 n s", "ccccooc"),
            // Texts that are not genuine count only together with others, and neither they nor retries are probes.
            (String(repeating: "F", count: 40), String(repeating: "c", count: 40)),
            ("FFFFff", "cccccc"),
            ("FFFFfff", "cccccco"),
            ("fSfSfSfSf", "cccccccco"),
            ("ssssssssss FFFFFFFFFFFFFFFFFFFF", String(repeating: "c", count: 30)),
            ("fffff 1 SFr s", "cccco---c"),
            // After a hundred successes, ten failures in a row open the breaker, and nine do not.
            (String(repeating: "s", count: 100) + "fffffffff s", String(repeating: "c", count: 110)),
            (String(repeating: "s", count: 100) + "ffffffffff", String(repeating: "c", count: 109) + "o"),
        ])
    func states(script: String, expected: String) { #expect(run(script) == expected) }

    @Test("The first probe is sent after 0.75 to 1.5 s, half of it random, each other one 1.5 s after the previous")
    func pauses() {
        for (random, expected) in [(0.0, [0.75, 1.5, 1.5]), (1, [1.5, 1.5, 1.5])] {
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
            #expect(breaker.opened == 1)
        }
    }

    @Test("A probe that was given up makes room for the next, and closes the breaker if it succeeds")
    func lateProbe() {
        for succeeding in [0, 1] {
            var breaker = CircuitBreaker(.init(consecutiveFailures: 1))
            let start = ContinuousClock.now
            if let first = ticket(&breaker, start) { breaker.complete(first, .failure, at: start, random: 0) }
            let probes = [2, 4].compactMap { second in
                let probe = ticket(&breaker, start + .seconds(second))
                #expect(ticket(&breaker, start + .seconds(second)) == nil)
                if second == 2, let probe { breaker.stopAwaiting(probe) }
                return probe
            }
            #expect(probes.count == 2)
            breaker.complete(probes[1 - succeeding], .failure, at: start + .seconds(5), random: 0)
            #expect(breaker.state == (succeeding == 0 ? .open : .halfOpen))
            breaker.complete(probes[succeeding], .success, at: start + .seconds(5), random: 0)
            #expect(breaker.state == .closed)
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
