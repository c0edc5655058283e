import Testing
import ReceiptBridgeTransport

@Suite("Retry policy")
struct RetryTests {
    private let policy = RetryPolicy(
        maximumAttempts: 4, baseDelay: .milliseconds(100), maximumDelay: .milliseconds(300))

    @Test(
        "Delays double up to the maximum, and half of each is random",
        arguments: [(1, 0.0, 50), (1, 1.0, 100), (2, 0.0, 100), (2, 0.5, 150), (3, 0.0, 150), (3, 1.0, 300)])
    func pauses(attempts: Int, random: Double, milliseconds: Int) {
        let delay = policy.delay(after: attempts, remaining: .seconds(9), random: random)
        #expect(delay == .milliseconds(milliseconds))
    }

    @Test("The policy gives up after the last attempt, on a permanent failure, and if the delay exceeds the deadline")
    func givingUp() {
        #expect(policy.delay(after: 4, remaining: .seconds(9), random: 0) == nil)
        #expect(policy.delay(after: 1, isTemporary: false, remaining: .seconds(9), random: 0) == nil)
        #expect(policy.delay(after: 1, remaining: .milliseconds(50), random: 0) == nil)
        #expect(policy.delay(after: 1, remaining: .zero, random: 0) == nil)
    }

    @Test("A requested delay is honored, or the policy gives up")
    func requested() {
        #expect(policy.delay(after: 1, remaining: .seconds(9), requested: .seconds(5), random: 0) == .seconds(5))
        #expect(policy.delay(after: 1, remaining: .seconds(9), requested: .seconds(60), random: 0) == nil)
    }

    @Test("A very large number of attempts does not overflow")
    func manyAttempts() {
        let patient = RetryPolicy(maximumAttempts: .max, maximumDelay: .seconds(2))
        #expect(patient.delay(after: 1_000_000, remaining: .seconds(9), random: 1) == .seconds(2))
    }

    @Test(
        "Retry-After is parsed as milliseconds or seconds since 1970, or as seconds from now",
        arguments: [
            ("0", 0), ("30", 30_000), ("86400", 60_000), ("1700000000500", 500), ("1700000010000", 10_000),
            ("1700000005", 5_000), ("1600000000000", 0), ("9999999999999", 60_000),
        ])
    func retryAfter(text: String, milliseconds: Int) throws {
        let retryAfter = try #require(RetryAfter(text))
        let delay = retryAfter.delay(nowMilliseconds: 1_700_000_000_000, maximum: .seconds(60))
        #expect(delay == .milliseconds(milliseconds))
    }

    @Test(
        "A Retry-After that is not a number of at most 15 digits is ignored",
        arguments: [
            "", "-1", "1.5", "soon", "+1", " 1", "Fri, 31 Dec 1999 23:59:59 GMT", "1234567890123456",
        ])
    func unreadableRetryAfter(text: String) { #expect(RetryAfter(text) == nil) }
}
