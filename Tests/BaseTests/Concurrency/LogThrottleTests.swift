import ReceiptBridgeBase
import Testing

@Suite("Log throttle")
struct LogThrottleTests {
    @Test("One event a minute is logged for each name, with the number of those that were not")
    func oncePerMinute() {
        let throttle = LogThrottle<String>()
        #expect(throttle.admission(of: "a", at: .seconds(100)) == 0)
        for second in 100..<160 { #expect(throttle.admission(of: "a", at: .seconds(second)) == nil) }
        #expect(throttle.allows("b", at: .seconds(159)))
        #expect(throttle.admission(of: "a", at: .seconds(160)) == 60)
        #expect(throttle.admission(of: "a", at: .seconds(159)) == nil, "an event that another thread overtook")
        #expect(throttle.admission(of: "a", at: .seconds(220)) == 1)
        // A clock that was set back must not suppress lines until it has caught up.
        #expect(throttle.allows("a", at: .seconds(100)))
    }

    @Test("The number of names is bounded; names older than a minute make room")
    func bounded() {
        let throttle = LogThrottle<Int>(capacity: 3)
        #expect((0..<5).map { throttle.allows($0, at: .seconds($0)) } == [true, true, true, false, false])
        #expect(throttle.allows(3, at: .seconds(60)))
        #expect(!throttle.allows(4, at: .seconds(60)))
    }
}
