import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Consumers of forwarded version 1 notifications")
struct NotificationV1ConsumerTests {
    /// Documented types and subtypes that the simulator never sends. Of these, version 1 has a body for the first one
    /// only, which is the same as with a subtype.
    private static let notSimulated: Set<String> = [
        "DID_CHANGE_RENEWAL_STATUS -", "RENEWAL_EXTENSION SUCCESS", "EXTERNAL_PURCHASE_TOKEN UNREPORTED",
        "EXTERNAL_PURCHASE_TOKEN CREATED", "EXTERNAL_PURCHASE_TOKEN ACTIVE_TOKEN_REMINDER", "METADATA_UPDATE -",
        "MIGRATE -", "PRICE_CHANGE -",
    ]

    @Test(
        "Every notification that version 1 knows gives a body with both lists and a receipt that the server answers",
        .timeLimit(.minutes(3)))
    func everyType() async throws {
        let consumer = try TestServer(reply: .respond())
        let stage = try await CommandFixture(customers: 84)
        try stage.configure(
            after: "    forward:\n      - {url: \"http://127.0.0.1:\(consumer.port)/v1\", as: v1}\n")
        let server = try await stage.serve()
        try await stage.notify(server)

        let sent = try await send(stage)
        let documented = NotificationType.documented.flatMap { type, subtypes in subtypes.map { "\(type) \($0)" } }
        #expect(Set(documented).subtracting(sent) == Self.notSimulated)
        #expect(await stage.isQuiet())
        let isForwarded = await eventually(within: .seconds(90), every: .milliseconds(200)) {
            let waiting = try? await stage.run("forwarding", "list").lines.filter { $0["state"]?.text == "waiting" }
            return waiting?.isEmpty == true
        }
        #expect(isForwarded)
        #expect(try await stage.run("forwarding", "list", "--dead").lines.isEmpty)

        let received = try consumer.requests.map { try JSONValue(reading: $0.body) }
        #expect(
            Set(received.compactMap { $0["notification_type"]?.text }) == [
                "INITIAL_BUY", "INTERACTIVE_RENEWAL", "DID_RENEW", "DID_RECOVER", "DID_FAIL_TO_RENEW", "CANCEL",
                "REFUND",
                "REVOKE", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "PRICE_INCREASE_CONSENT",
                "CONSUMPTION_REQUEST",
            ])
        for body in received { try await check(body, server) }
        await server.finish()
    }

    /// Makes every kind of event happen twice, and sends a test notification and those of a mass extension. Returns the
    /// types and subtypes of all notifications.
    private func send(_ stage: CommandFixture) async throws -> Set<String> {
        var sent: Set<String> = []
        for event in (WorldEvent.allCases + WorldEvent.allCases) where event != .accountRemoved {
            for notification in try stage.appStore.simulate(EventRequest(event)).notifications {
                sent.insert("\(notification.type) \(notification.subtype ?? "-")")
            }
        }
        try await stage.run("notifications", "test", "--environment", "production", exit: 0)
        try await stage.run(
            "renewals", "extend", "--mass", "--product-id", SimulatedProduct.monthly.productId, "--days", "1",
            "--reason",
            "3", "--yes", exit: 0)
        return sent.union(["TEST -", "RENEWAL_EXTENSION SUMMARY", "RENEWAL_EXTENSION FAILURE"])
    }

    /// What consumers rely on: a receipt as text that verifyReceipt answers with the same subscription, both lists, and
    /// every intent as text.
    private func check(_ body: JSONValue, _ server: Running) async throws {
        let type = body["notification_type"]?.text ?? ""
        let unified = try #require(body["unified_receipt"])
        let rows = try #require(unified["latest_receipt_info"]?.elements, "\(type)")
        let renewals = try #require(unified["pending_renewal_info"]?.elements, "\(type)")
        for object in renewals + [body] {
            #expect(object["expiration_intent"].map { $0.text != nil } ?? true, "\(type)")
        }
        let receipt = try #require(unified["latest_receipt"]?.text, "\(type)")
        let answer = try await server.verify(receipt).json
        #expect(answer["status"]?.integer == 0, "\(type)")
        func originals(_ list: [JSONValue]) -> Set<String> {
            Set(list.compactMap { $0["original_transaction_id"]?.text })
        }
        let answered = originals(answer["pending_renewal_info"]?.elements ?? [])
        #expect(answered.isSuperset(of: originals(renewals)), "\(type)")
        let known =
            (answer["receipt"]?["in_app"]?.elements ?? []) + (answer["latest_receipt_info"]?.elements ?? [])
        // A finished consumable has a row in the notification only.
        let permanent = rows.filter { $0["product_id"]?.text != SimulatedProduct.coins.productId }
        let (all, expected) = (originals(known), originals(permanent))
        #expect(all.isSuperset(of: expected), "\(type)")
    }
}
