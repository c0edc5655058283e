import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Synchronization
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
        let bodies = Mutex<[JSONValue]>([])
        let consumer = try TestServer { request in
            guard let body = try? JSONValue(reading: request.body) else { return .respond(status: 400) }
            bodies.withLock { $0.append(body) }
            return .respond()
        }
        let stage = try await CommandFixture(customers: 84)
        let target = "    forward:\n      - {url: \"http://127.0.0.1:\(consumer.port)/v1\", as: v1}\n"
        try stage.folder.write("receipt-bridge.yaml", (try stage.configuration() + target).utf8)
        let server = try stage.start("serve", "--listen", "127.0.0.1:0")
        let port = try await server.port()
        try await stage.ask(
            "POST", "/notifications/targets",
            .object(["url": .string("http://127.0.0.1:\(port)/v1/notifications")]))

        let sent = try await send(stage)
        let documented = NotificationType.documented.flatMap { type, subtypes in subtypes.map { "\(type) \($0)" } }
        #expect(Set(documented).subtracting(sent) == Self.notSimulated)
        let isDelivered = await eventually(within: .seconds(90)) {
            (try? await stage.ask("GET", "/notifications/deliveries"))?["waiting"]?.integer == 0
        }
        let isForwarded = await eventually(within: .seconds(90), every: .milliseconds(200)) {
            let waiting = try? await stage.run("forwarding", "list").lines.filter { $0["state"]?.text == "waiting" }
            return waiting?.isEmpty == true
        }
        #expect(isDelivered && isForwarded)
        #expect(try await stage.run("forwarding", "list", "--dead").lines.isEmpty)

        let received = bodies.withLock { $0 }
        print("\(sent.count) types and subtypes sent, \(received.count) version 1 bodies received")
        #expect(
            Set(received.compactMap { $0["notification_type"]?.text }) == [
                "INITIAL_BUY", "INTERACTIVE_RENEWAL", "DID_RENEW", "DID_RECOVER", "DID_FAIL_TO_RENEW", "CANCEL",
                "REFUND",
                "REVOKE", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "PRICE_INCREASE_CONSENT",
                "CONSUMPTION_REQUEST",
            ])
        for body in received { try await check(body, port: port) }
        server.stop()
        #expect(await server.end() == 0)
        await stage.stop()
    }

    /// Makes every kind of event happen twice, and sends a test notification and those of a mass extension. Returns the
    /// types and subtypes of all notifications.
    private func send(_ stage: CommandFixture) async throws -> Set<String> {
        var sent: Set<String> = []
        for event in (WorldEvent.allCases + WorldEvent.allCases) where event != .accountRemoved {
            let answer = try await stage.ask("POST", "/events", .object(["event": .string(event.rawValue)]))
            for notification in (answer["events"]?.elements ?? []).flatMap({ $0["notifications"]?.elements ?? [] }) {
                sent.insert("\(notification["notificationType"]?.text ?? "") \(notification["subtype"]?.text ?? "-")")
            }
        }
        let test = try await stage.run("notifications", "test", "--environment", "production")
        #expect(test.exit == 0, "\(test.errors)")
        let extended = try await stage.run(
            "renewals", "extend", "--mass", "--product-id", SimulatedProduct.monthly.productId, "--days", "1",
            "--reason",
            "3", "--yes")
        #expect(extended.exit == 0, "\(extended.errors)")
        return sent.union(["TEST -", "RENEWAL_EXTENSION SUMMARY", "RENEWAL_EXTENSION FAILURE"])
    }

    /// What consumers rely on: a receipt as text that verifyReceipt answers with the same subscription, both lists, and
    /// every intent as text.
    private func check(_ body: JSONValue, port: Int) async throws {
        let type = body["notification_type"]?.text ?? ""
        let unified = try #require(body["unified_receipt"])
        let rows = try #require(unified["latest_receipt_info"]?.elements, "\(type)")
        let renewals = try #require(unified["pending_renewal_info"]?.elements, "\(type)")
        for object in renewals + [body] {
            #expect(object["expiration_intent"].map { $0.text != nil } ?? true, "\(type)")
        }
        let receipt = try #require(unified["latest_receipt"]?.text, "\(type)")
        let connection = try RawConnection(port: port)
        try await connection.send(
            RawConnection.post("/verifyReceipt", Question.body(receipt, password: SimulatedApp.first.sharedSecret)))
        let answer = try JSONValue(reading: try #require(try await connection.answer()).body)
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
