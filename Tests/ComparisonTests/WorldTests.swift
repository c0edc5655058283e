import ReceiptBridgeBase
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Both endpoints of a simulated App Store")
struct WorldTests {
    @Test(
        "verifyReceipt and the Server API have no unexpected difference for any customer of a simulated store",
        arguments: [
            (false, SharedSimulator.noon), (true, SharedSimulator.noon),
            // 2024-11-15: some free trials began before 2024-09-01, some after.
            (false, Timestamp(seconds: 1_731_672_000)),
        ])
    func noInvention(upgradesAreCancelled: Bool, clock: Timestamp) throws {
        var generator = SeededGenerator("noInvention")
        let store = try SimulatedStore(
            seed: generator.next() % 10_000, customers: TestSize.pick(debug: 84, release: 280),
            clock: .fixed(clock), pki: try SharedSimulator.pki,
            options: WorldOptions(upgradesAreCancelled: upgradesAreCancelled))
        var tally = ComparisonSummary()
        let receipts = store.sampleReceipts
        #expect(receipts.count > TestSize.pick(debug: 45, release: 280))
        for receipt in receipts {
            let faces = try ComparisonPair(receipt, in: store)
            let comparison = Comparison(
                verifyReceipt: try faces.verifyReceipt, serverAPI: try faces.serverAPI,
                context: ComparisonContext(receipt: receipt.id, now: clock))
            tally.add(
                comparison.differences,
                of: .init(
                    bundleId: SimulatedApp.first.bundleId, environment: receipt.customer.environment.rawValue))
        }
        let unexpected = tally.entries.filter { $0.key.verdict == .unexpected }
        let shown = unexpected.flatMap(\.value.examples).map { String(decoding: $0.json, as: UTF8.self) }
        #expect(shown == [])
        #expect(tally.compared == Int64(receipts.count) && tally.equal == tally.compared)
        #expect(tally.count(.expected) > 0)
    }

    @Test("A response compared with itself has no differences")
    func identical() throws {
        let store = try SharedSimulator.world
        for receipt in store.receipts {
            let answer = try ComparisonPair(receipt, in: store).verifyReceipt
            let comparison = Comparison(
                verifyReceipt: answer, serverAPI: answer, context: ComparisonContext(receipt: receipt.id))
            #expect(comparison.differences == [], "\(receipt.id)")
        }
    }
}
