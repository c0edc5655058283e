import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Lookups after the notifications of recheck")
struct RecheckTests {
    @Test("The customer is looked up once after each new notification of the listed types, and after no other")
    func calls() async throws {
        let refund = try #require(NotificationPattern("REFUND"))
        let bridge = try StoringTestProxy { $0.recheck = [refund] }
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.ask(receipt).source == .api)
        #expect(await bridge.waitUntilStored(receipt))
        let lookup = bridge.appStore.questions.count
        bridge.appStore.change { $0.renews = 0 }
        try await bridge.notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", of: "700000000000101")
        bridge.appStore.update { world in
            world.change("700000000000101") { $0.revoked = SharedSimulator.noon }
            world.change { ($0.status, $0.renews) = (5, 0) }
        }
        let body = try bridge.appStore.notification("REFUND", of: "700000000000101")
        #expect(bridge.appStore.questions.count == lookup)
        try await bridge.receive(body)
        // Not by a request, which would look the stale customer up itself.
        let bundleId = try #require(BundleIdentifier(rawValue: ScriptedCustomer.bundleId))
        let keys = CustomerIdentifiers([], ["700000000000101"])
        let scope = AppScope(bundleId: bundleId, environment: .production)
        #expect(await eventually { (try? await bridge.store.customer(of: keys, in: scope))??.needsLookup == false })
        #expect(bridge.appStore.questions.count == 2 * lookup)
        #expect(try await bridge.receive(body) == .repeated)
        #expect(await bridge.ask(receipt).source == .stored)
        #expect(bridge.appStore.questions.count == 2 * lookup)
    }

    @Test(
        "A pattern is a type, perhaps with a subtype; DID_RECOVER is the name in version 1",
        arguments: [
            ("REFUND", "REFUND", nil, true), ("REFUND", "REFUND", "X", true), ("REFUND", "REVOKE", nil, false),
            ("DID_RECOVER", "DID_RENEW", "BILLING_RECOVERY", true), ("DID_RECOVER", "DID_RENEW", nil, false),
            ("EXPIRED/VOLUNTARY", "EXPIRED", "VOLUNTARY", true), ("EXPIRED/VOLUNTARY", "EXPIRED", "OTHER", false),
        ] as [(String, String, String?, Bool)])
    func patterns(text: String, type: String, subtype: String?, matches: Bool) throws {
        #expect(try #require(NotificationPattern(text)).matches(type: type, subtype: subtype) == matches)
    }

    @Test("Other texts are no patterns", arguments: ["", "refund", "REFUND/", "/X", "A/B/C", "RE FUND"])
    func malformed(text: String) { #expect(NotificationPattern(text) == nil) }
}
