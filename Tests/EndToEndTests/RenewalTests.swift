import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("renewals extend")
struct RenewalTests {
    @Test("renewals extend extends twice; Apple refuses a third extension")
    func one() async throws {
        let stage = try await CommandFixture()
        let subscription = try #require(stage.extendable().first).renewal.originalTransactionId
        func words(_ request: String, days: String = "7") -> [String] {
            [
                "renewals", "extend", "--original-transaction-id", subscription, "--days", days, "--reason", "1",
                "--request-id", request,
            ]
        }
        let preview = try await stage.preview(words("first"))
        #expect(preview["method"]?.text == "PUT")
        #expect(
            preview["url"]?.text
                == "http://127.0.0.1:\(stage.port)/production/inApps/v1/subscriptions/extend/\(subscription)")
        #expect(
            preview["body"]
                == JSONValue(["extendByDays": 7, "extendReasonCode": 1, "requestIdentifier": "first"]))
        for request in ["first", "second"] {
            let outcome = try await stage.run(words(request))
            #expect(outcome.exit == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            let line = try #require(outcome.lines.first)
            #expect(line["success"] == .bool(true) && line["originalTransactionId"]?.text == subscription)
            #expect(line["requestIdentifier"]?.text == request && line["effectiveDate"]?.integer != nil)
        }
        try await stage.run(words("third"), exit: 1, says: "4030005")
        for (arguments, reason) in [
            (words("a", days: "0"), "--days: 1 to 90"), (words("a", days: "91"), "--days: 1 to 90"),
            (words("a b"), "--request-id"), (words("a") + ["--reason", "4"], "--reason: 0 to 3"),
            (words("a") + ["--storefronts", "USA"], "--storefronts needs --mass"),
            (words("a") + ["--mass"], "specify one of --original-transaction-id, --ids, --mass and --status"),
        ] { try await stage.expectRefusal(arguments, reason) }
    }

    @Test("The exit code is 1 if Apple refuses, and if a 200 response does not report success")
    func refused() async throws {
        let stage = try await CommandFixture(store: nil)
        let (customer, renewal) = try #require(stage.extendable().first)
        let words = [
            "renewals", "extend", "--original-transaction-id", renewal.originalTransactionId, "--days", "1", "--reason",
            "0",
        ]
        stage.appStore.faults.add(
            SimulatedFault(.body(#"{"originalTransactionId":"1","success":false}"#), endpoint: "extend", times: 1))
        let silent = try await stage.run(words, exit: 1, says: "Apple did not extend the subscription")
        #expect(silent.lines.first?["success"] == .bool(false))
        let expired = try #require(
            stage.customers().first { $0.id != customer.id && $0.renewals.first?.status == .expired })
        try await stage.run(
            words.map { $0 == renewal.originalTransactionId ? expired.renewals[0].originalTransactionId : $0 }, exit: 1,
            says: "cannot be extended")
    }

    @Test("renewals extend extends all subscriptions of a product and reports the progress")
    func mass() async throws {
        let stage = try await CommandFixture(store: nil)
        let product = try #require(stage.extendable().first).renewal.productId
        let id = "758883e8-151b-47b7-abd0-60c4d804c2f5"
        let words = ["renewals", "extend", "--mass", "--product-id", product, "--days", "3", "--reason", "3"]
        let preview = try await stage.preview(words + ["--storefronts", "USA,DEU", "--request-id", id])
        #expect(preview["method"]?.text == "POST")
        #expect(preview["url"]?.text?.hasSuffix("/production/inApps/v1/subscriptions/extend/mass") == true)
        #expect(preview["body"]?["storefrontCountryCodes"] == .array([.string("USA"), .string("DEU")]))
        try await stage.expectRefusal(words, "not confirmed, nothing was sent")
        let accepted = try await stage.run(words + ["--request-id", id, "--yes"])
        #expect(accepted.exit == 0 && accepted.lines.first?["requestIdentifier"]?.text == id, "\(accepted.errors)")
        let reported = try await stage.run(
            "renewals", "extend", "--status", "--product-id", product, "--request-id", id)
        let status = try #require(reported.lines.first)
        #expect(reported.exit == 0 && status["complete"] == .bool(true) && status["completeDate"]?.integer != nil)
        #expect((status["succeededCount"]?.integer ?? 0) > 0)
        try await stage.run(
            "renewals", "extend", "--status", "--product-id", "com.example.app.other", "--request-id", id, exit: 1,
            says: "no such extension request")
        for (more, reason) in [
            (["--request-id", "ours"], "must be a UUID"), (["--storefronts", "usa"], "three capital letters"),
            (["--storefronts", ""], "an empty name"), (["--storefronts", "US"], "three capital letters"),
        ] { try await stage.expectRefusal(words + more, reason) }
    }
}
