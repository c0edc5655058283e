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
    /// Returns both flags of a transaction in a list of rows.
    private func flags(of id: String, in rows: JSONValue?) throws -> [String?] {
        let row = try #require(rows?.elements?.first { $0["transaction_id"]?.text == id })
        return [row["is_trial_period"]?.text, row["is_in_intro_offer_period"]?.text]
    }

    @Test(
        "Responses of api, stored and to a signed transaction have the flags of the purchase date, in both lists",
        arguments: [
            // 2024-08-17, 2024-08-31T23:59:59, 2024-09-01 and 2024-09-03.
            (1_723_852_800, "false"), (1_725_148_799, "false"), (1_725_148_800, "true"), (1_725_321_600, "true"),
        ] as [(Int64, String)])
    func sources(seconds: Int64, introductory: String) async throws {
        let bridge = try StoringTestProxy()
        var trial = try #require(bridge.appStore.update { $0.purchases.first })
        (trial.id, trial.purchased, trial.isTrial) = ("700000000000099", Timestamp(seconds: seconds), true)
        trial.expires = trial.purchased.advanced(by: .days(7))
        bridge.appStore.update { $0.purchases.insert(trial, at: 0) }
        let receipt = try bridge.appStore.receipt(of: 4)
        let signed = try ScriptedCustomer.signed(trial, SharedSimulator.noon)
        let api = await bridge.ask(receipt)
        #expect(await bridge.waitUntilStored(receipt))
        let stored = await bridge.ask(receipt)
        let item = await bridge.ask(signed)
        #expect(api.source == .api && stored.source == .stored && stored.body == api.body && item.status == 0)
        for reply in [api, stored, item] {
            for rows in [reply.json?["receipt"]?["in_app"], reply.json?["latest_receipt_info"]] {
                #expect(try flags(of: trial.id, in: rows) == ["true", introductory], "\(reply.source)")
            }
        }
    }

    @Test(
        "The simulator's receipts and responses have Apple's flags of their time",
        arguments: [
            // 2024-08-10 and 2026-11-21
            (Timestamp(seconds: 1_723_291_200), "false"), (SharedSimulator.noon, "true"),
        ])
    func simulator(clock: Timestamp, introductory: String) async throws {
        let store = try SimulatedStore(seed: 7, customers: 84, clock: .fixed(clock), pki: try SharedSimulator.pki)
        let pipeline = try ServerAPIWorld.pipeline(
            store, port: 9, transport: ScriptedAppStore(), answer: [.receipt], now: { clock })
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
