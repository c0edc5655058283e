import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("consumption send")
struct ConsumptionTests {
    @Test("consumption send sends only what the customer consented to and what Apple accepts for the product")
    func second() async throws {
        let stage = try await CommandFixture()
        let consumable = try stage.appStore.purchase(.consumable).transactionId
        let subscription = try stage.appStore.purchase().transactionId
        func words(_ id: String, _ more: String...) -> [String] {
            ["consumption", "send", id, "--customer-consented", "--delivery-status", "DELIVERED"] + more
        }
        let preview = try await stage.preview(words(consumable, "--consumption-percentage", "67932"))
        #expect(preview["url"]?.text?.hasSuffix("/inApps/v2/transactions/consumption/\(consumable)") == true)
        #expect(
            preview["body"]
                == JSONValue([
                    "customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED",
                    "consumptionPercentage": 67_932,
                ]))
        for arguments in [
            words(consumable, "--consumption-percentage", "67932", "--refund-preference", "GRANT_PRORATED"),
            words(subscription, "--refund-preference", "DECLINE", "--sample-content-provided"),
        ] {
            let sent = try await stage.run(arguments)
            #expect(sent.exit == 0 && sent.lines.first?["sent"] == .bool(true), "\(sent.errors)")
        }
        #expect(stage.appStore.requests.count("consumption.production") == 2)
        try await stage.expectRefusal(
            words(consumable).filter { $0 != "--customer-consented" }, "without the customer's consent")
        try await stage.expectRefusal(words(consumable, "--consumption-percentage", "100001"), "0 to 100000")
        try await stage.expectRefusal(words(consumable, "--platform", "1"), "--platform: only allowed with --v1")
        try await stage.expectRefusal(words("0"), "1 to 20 digits")
        // The product is unknown here, so Apple is asked for it; what Apple does not accept is not sent.
        try await stage.run(
            words(subscription, "--consumption-percentage", "1000"), exit: 2, says: "not allowed for a subscription")
        #expect(stage.appStore.requests.count("consumption.production") == 2)
        try await stage.run(words("999999999999999"), exit: 1, says: "no such transaction")
    }

    @Test("The form of version 1 sends numbers, and 0 (undeclared) for omitted values")
    func first() async throws {
        let stage = try await CommandFixture(store: nil)
        let consumable = try stage.appStore.purchase(.consumable).transactionId
        let words = [
            "consumption", "send", consumable, "--v1", "--customer-consented", "--delivery-status", "0",
            "--consumption-status", "3", "--account-tenure", "7", "--refund-preference", "2",
        ]
        let preview = try await stage.preview(words)
        #expect(preview["url"]?.text?.hasSuffix("/inApps/v1/transactions/consumption/\(consumable)") == true)
        #expect(preview["body"]?["appAccountToken"]?.text == "" && preview["body"]?["platform"]?.integer == 0)
        let sent = try await stage.run(words)
        #expect(sent.exit == 0 && stage.appStore.requests.count("consumptionV1.production") == 1, "\(sent.errors)")
        for (more, reason) in [
            (["--play-time", "8"], "--play-time: 0 to 7"),
            (["--app-account-token", "nobody"], "must be a UUID or empty"),
            (["--consumption-percentage", "1"], "not allowed with --v1"),
            (["--delivery-status", "DELIVERED"], "a number"),
        ] { try await stage.expectRefusal(words + more, reason) }
    }

    @Test("A stored request of Apple's can be answered within twelve hours, and later only with --late")
    func late() async throws {
        let stage = try await CommandFixture()
        let event = try stage.appStore.simulate(EventRequest(.consumptionRequest))
        let environment = try #require(event.after).environment.rawValue.lowercased()
        let id = try #require(event.notifications.first?.transaction).transactionId
        let history = try await stage.run(
            "notifications", "history", "--replay", "--type", "CONSUMPTION_REQUEST", "--environment", environment)
        #expect(history.exit == 0 && history.lines.contains { $0["transactionId"]?.text == id }, "\(history.errors)")
        let words = [
            "consumption", "send", id, "--customer-consented", "--delivery-status", "DELIVERED", "--environment",
            environment,
        ]
        try await stage.run(words, exit: 0)
        // Stores a request that is dated 13 hours ago.
        let text = try await stage.appStore.notification(of: id, hoursAgo: 13)
        try await stage.change("UPDATE notification SET text = ? WHERE type = 'CONSUMPTION_REQUEST'", [text])
        try await stage.expectRefusal(words, "Apple asked at 2")
        try await stage.expectRefusal(words + ["--dry-run"], "and waited until")
        try await stage.run(words + ["--late"], exit: 0)
        // The product is known from the stored transaction.
        let type = stage.appStore.world.customers.flatMap(\.transactions).first { $0.transactionId == id }?.product.kind
        if type == .autoRenewable {
            try await stage.expectRefusal(
                words + ["--late", "--consumption-percentage", "1"], "not allowed for a subscription")
        }
    }
}

extension SimulatedStore {
    /// Returns a consumption request about a transaction, in the form of a JWS but without a valid signature.
    fileprivate func notification(of id: String, hoursAgo hours: Int64) async throws -> String {
        func text(_ payload: JSONValue) -> String {
            "\(Base64.encodeURLSafe(Array("{}".utf8))).\(Base64.encodeURLSafe(payload.bytes)).AA"
        }
        let date = Timestamp.now.advanced(by: .hours(-hours)).milliseconds
        return text(
            JSONValue([
                "notificationType": "CONSUMPTION_REQUEST", "signedDate": date,
                "data": JSONValue(["signedTransactionInfo": text(JSONValue(["transactionId": id]))]),
            ]))
    }
}
