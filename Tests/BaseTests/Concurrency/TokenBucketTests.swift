import ReceiptBridgeBase
import Testing

@Suite("Token bucket")
struct TokenBucketTests {
    @Test("The bucket starts full, refills evenly and returns the exact time to wait")
    func arithmetic() {
        let rate = TokenBucket.Rate.perHour(36)
        var bucket = TokenBucket(rate, at: .seconds(1000))
        for _ in 0..<36 { #expect(bucket.consume(rate, at: .seconds(1000)) == nil) }
        #expect(bucket.consume(rate, at: .seconds(1000)) == .seconds(100))
        #expect(bucket.consume(rate, at: .seconds(1099)) == .seconds(1))
        #expect(bucket.consume(rate, at: .seconds(1100)) == nil)
        #expect(bucket.consume(rate, at: .seconds(1100)) == .seconds(100))
        // A clock that goes back adds no tokens.
        #expect(bucket.consume(rate, at: .seconds(5)) == .seconds(100))
        // The bucket never holds more than one hour's tokens, however long the time.
        #expect(bucket.consume(rate, at: .seconds(10_000_000)) == nil)
        let left = bucket.tokens(rate, at: .zero)
        #expect(left == 35)
    }

    @Test("Reserved tokens stay in the bucket")
    func reserve() {
        let rate = TokenBucket.Rate.perMinute(10)
        var bucket = TokenBucket(rate, at: .zero)
        for _ in 0..<7 { #expect(bucket.consume(rate, reserved: 3, at: .zero) == nil) }
        #expect(bucket.consume(rate, reserved: 3, at: .zero) == .seconds(6))
        let left = [bucket.tokens(rate, reserved: 3, at: .zero), bucket.tokens(rate, at: .zero)]
        #expect(left == [0, 3])
    }

    @Test("Another rate applies at once, and a rate is 1 to 1,000,000 tokens")
    func rates() {
        var bucket = TokenBucket(.perMinute(1_000), at: .zero)
        #expect(bucket.consume(.perMinute(2), at: .zero) == nil)
        #expect(bucket.consume(.perMinute(2), at: .zero) == nil)
        #expect(bucket.consume(.perMinute(2), at: .zero) == .seconds(30))
        #expect(bucket.consume(.perMinute(60), at: .zero) == .seconds(1))
        #expect([-5, 5_000_000].map { TokenBucket.Rate.perHour($0).tokens } == [1, 1_000_000])
    }
}
