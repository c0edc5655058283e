import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Flags of free trials, in every response")
struct TrialFlagTests {
    @Test(
        "The simulator's receipts and responses have Apple's flags of their time",
        arguments: [
            // 2024-08-10 and 2026-11-21
            (Timestamp(seconds: 1_723_291_200), "false"), (SharedSimulator.noon, "true"),
        ])
    func simulator(clock: Timestamp, introductory: String) async throws {
        let store = try SimulatedStore(seed: 7, customers: 84, clock: .fixed(clock), pki: try SharedSimulator.pki)
        let world = ServerAPIWorld(appStore: store, transport: ScriptedAppStore())
        let pipeline = try world.pipeline([.receipt], clock: MovableClock(clock))
        var trials: [String: Int] = [:]
        for receipt in store.receipts {
            let body = Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret)
            let theirs = try store.verifyReceipt.answer(body: Array(body), at: .automatic)
            let ours = try JSONValue(reading: await pipeline.answer(body: body, route: .auto).answer.body)
            var rows: [JSONValue] = []
            for answer in [theirs, ours] {
                let list = answer["receipt"]?["in_app"]?.elements
                rows += list ?? [answer["receipt"]].compactMap(\.self)
                rows += answer["latest_receipt_info"]?.elements ?? []
            }
            for row in rows where row["is_trial_period"]?.text == "true" && row["promotional_offer_id"] == nil {
                guard row["offer_code_ref_name"] == nil else { continue }
                trials[row["is_in_intro_offer_period"]?.text ?? "none", default: 0] += 1
            }
        }
        #expect((trials[introductory] ?? 0) > 20 && (introductory == "true" || trials["true"] == nil), "\(trials)")
    }
}
