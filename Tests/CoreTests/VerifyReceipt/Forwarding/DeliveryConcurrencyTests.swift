import ReceiptBridgeCore
import Testing

@Suite("Concurrency of deliveries")
struct DeliveryConcurrencyTests {
    /// Sends rounds of as many posts at once as the limit allows. Returns the limits after the rounds and the number of
    /// failures.
    ///
    /// - Parameter target: the latency of a post by its position in the round, from 1; `nil` if it fails.
    private func send(
        _ rounds: Int, with concurrency: inout DeliveryConcurrency, to target: (Int) -> Duration?
    ) -> (limits: [Int], failures: Int) {
        var (limits, failures): ([Int], Int) = ([], 0)
        for _ in 0..<rounds {
            let (limit, reductions) = (concurrency.limit, concurrency.reductions)
            for position in 1...limit {
                if let latency = target(position) {
                    concurrency.recordSuccess(after: latency, inFlight: limit)
                } else {
                    failures += 1
                    concurrency.recordFailure(begunAfter: reductions)
                }
            }
            limits.append(concurrency.limit)
        }
        return (limits, failures)
    }

    @Test(
        "A target that always takes the same time gets as many deliveries at once as the maximum, whatever the time",
        arguments: [Duration.milliseconds(1), .milliseconds(300), .seconds(9)])
    func steady(latency: Duration) {
        var concurrency = DeliveryConcurrency(maximum: 50)
        #expect(concurrency.limit == 4)
        #expect(send(5, with: &concurrency) { _ in latency }.limits == [8, 16, 32, 50, 50])
    }

    @Test("A target whose times differ tenfold, but not with the number of deliveries, gets the maximum")
    func uneven() {
        var concurrency = DeliveryConcurrency(maximum: 64)
        #expect(send(4, with: &concurrency) { .milliseconds($0 % 2 == 0 ? 30 : 300) }.limits == [8, 16, 32, 64])
    }

    @Test("If a target handles one delivery after another, the limit stops growing, and is tried again from the start")
    func serial() {
        var concurrency = DeliveryConcurrency(maximum: 64)
        let limits = send(40, with: &concurrency) { .milliseconds(50 * $0) }.limits
        #expect(limits.prefix(3) == [8, 16, 16] && limits.max() == 16)
        #expect(limits[2 + DeliveryConcurrency.patience - 1] == 4)
    }

    @Test("A target that became slower for good gets the maximum again")
    func slower() {
        var concurrency = DeliveryConcurrency(maximum: 64)
        #expect(send(2, with: &concurrency) { _ in .milliseconds(100) }.limits == [8, 16])
        let limits = send(DeliveryConcurrency.patience + 4, with: &concurrency) { _ in .milliseconds(500) }.limits
        #expect(limits.suffix(6) == [16, 4, 8, 16, 32, 64])
    }

    @Test("Failures of posts that were begun together halve the limit once; then it grows ever faster, to one less")
    func failures() {
        var concurrency = DeliveryConcurrency(maximum: 64)
        _ = send(4, with: &concurrency) { _ in .milliseconds(300) }
        #expect(send(1, with: &concurrency) { $0 > 40 ? nil : .milliseconds(300) }.limits == [32])
        #expect(send(6, with: &concurrency) { _ in .milliseconds(300) }.limits == [33, 35, 39, 47, 63, 63])
        let later = send(DeliveryConcurrency.patience, with: &concurrency) { _ in .milliseconds(300) }.limits
        #expect(later.last == 64)
    }

    @Test("A target that accepts only a few deliveries at once refuses hardly any", arguments: [5, 9, 20])
    func bounded(accepted: Int) {
        var concurrency = DeliveryConcurrency(maximum: 64)
        let (limits, failures) = send(1_000, with: &concurrency) { $0 > accepted ? nil : .milliseconds(300) }
        let posts = limits.reduce(0, +)
        #expect(failures * 100 < posts, "\(failures) of \(posts)")
        #expect(posts > 1_000 * accepted * 4 / 5, "\(posts)")
    }

    @Test("A target that is down gets four at once, and the maximum soon after its return")
    func outage() {
        var concurrency = DeliveryConcurrency(maximum: 64)
        _ = send(4, with: &concurrency) { _ in .milliseconds(300) }
        #expect(send(9, with: &concurrency) { _ in nil }.limits == [32, 16, 8, 4, 4, 4, 4, 4, 4])
        let back = send(DeliveryConcurrency.patience + 6, with: &concurrency) { _ in .milliseconds(300) }.limits
        #expect(back.suffix(6) == [6, 8, 12, 20, 36, 64])
    }

    @Test("A limit that is not used up does not grow")
    func idle() {
        var concurrency = DeliveryConcurrency(maximum: 64)
        for _ in 0..<100 { concurrency.recordSuccess(after: .milliseconds(300), inFlight: 3) }
        #expect(concurrency.limit == 4)
    }

    @Test("A maximum below four is also the limit at the start and after failures", arguments: [1, 2, 3])
    func small(maximum: Int) {
        var concurrency = DeliveryConcurrency(maximum: maximum)
        #expect(concurrency.limit == maximum)
        #expect(Set(send(50, with: &concurrency) { _ in .milliseconds(300) }.limits) == [maximum])
        #expect(send(3, with: &concurrency) { _ in nil }.limits == [maximum, maximum, maximum])
    }
}
