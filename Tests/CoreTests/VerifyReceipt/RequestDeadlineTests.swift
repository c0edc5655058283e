import Testing
import ReceiptBridgeCore

@Suite("Request deadline")
struct RequestDeadlineTests {
    private let start = ContinuousClock.now

    @Test("Each upstream source gets a share of the time that the earlier ones left")
    func shares() {
        let deadline = RequestDeadline(.init(.seconds(9)), from: start)
        // Half a second is reserved.
        #expect(deadline.share(before: 0, at: start) == .milliseconds(8_500))
        #expect(deadline.share(before: 1, at: start) == .milliseconds(4_250))
        #expect(deadline.share(before: 0, at: start + .milliseconds(100)) == .milliseconds(8_400))
        #expect(deadline.share(before: 0, at: start + .milliseconds(4_250)) == .milliseconds(4_250))
        #expect(deadline.share(before: 0, at: start + .milliseconds(8_600)) == .zero)
        #expect(RequestDeadline(.init(.seconds(1)), from: start).share(before: 0, at: start) == .milliseconds(900))
    }

    @Test("Time for two store reads remains after the deadline is used up")
    func reading() {
        let deadline = RequestDeadline(.init(.seconds(9)), from: start)
        #expect(deadline.reading(before: 1, at: start) == .milliseconds(4_250))
        let late = deadline.reading(before: 0, at: start + .seconds(9))
        #expect(late > .milliseconds(166) && late * 2 < .milliseconds(500))
    }
}
