import Testing
import Transport

@Suite("Idle connections")
struct IdleConnectionPolicyTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("As many connections stay open as were in use at the same time within the last two periods")
    func trimming() {
        var policy = IdleConnectionPolicy(at: start)
        policy.running(900)
        #expect(policy.decision(running: 5, at: at(29)) == .none)
        #expect(policy.pause(from: at(29)) == .seconds(1))
        #expect(policy.decision(running: 5, at: at(30)) == .keep(900))
        policy.running(20)
        #expect(policy.decision(running: 2, at: at(60)) == .keep(900))
        #expect(policy.decision(running: 2, at: at(90)) == .keep(20))
        #expect(policy.decision(running: 0, at: at(120)) == .keep(2))
    }

    @Test("All are closed, once, if none was in use for two periods")
    func closing() {
        var policy = IdleConnectionPolicy(at: start)
        policy.running(3)
        let decisions = [30, 60, 90, 120].map { policy.decision(running: 0, at: at($0)) }
        #expect(decisions == [.keep(3), .keep(3), .closeAll, .none])
        policy.running(1)
        #expect(policy.decision(running: 1, at: at(150)) == .keep(1))
    }
}
