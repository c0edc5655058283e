import Testing
import ReceiptBridgeTransport

@Suite("Idle connections")
struct IdleConnectionPolicyTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("As many connections stay open as were in use at the same time within the last two periods")
    func trimming() {
        var policy = IdleConnectionPolicy(at: start)
        policy.running(900)
        #expect(policy.limit(running: 5, at: at(29)) == nil)
        #expect(policy.pause(from: at(29)) == .seconds(1))
        #expect(policy.limit(running: 5, at: at(30)) == 900)
        policy.running(20)
        #expect(policy.limit(running: 2, at: at(60)) == 900)
        #expect(policy.limit(running: 2, at: at(90)) == 20)
        #expect(policy.limit(running: 0, at: at(120)) == 2)
    }

    @Test("All are closed, once, if none was in use for two periods")
    func closing() {
        var policy = IdleConnectionPolicy(at: start)
        policy.running(3)
        let limits = [30, 60, 90, 120].map { policy.limit(running: 0, at: at($0)) }
        #expect(limits == [3, 3, 0, nil])
        policy.running(1)
        #expect(policy.limit(running: 1, at: at(150)) == 1)
    }
}
