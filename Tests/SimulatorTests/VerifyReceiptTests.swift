import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Simulated verifyReceipt")
struct VerifyReceiptTests {
    private let store: SimulatedStore

    init() throws { store = try SharedSimulator.world }

    private func receipt(
        _ kind: CustomerKind, _ environment: AppStoreEnvironment = .production, version: UInt8? = nil
    ) throws -> IssuedReceipt { try store.receipt(kind, environment, version: version) }

    private func ask(
        _ text: String, at endpoint: SimulatedVerifyReceipt.Endpoint = .production,
        password: String? = SimulatedApp.first.sharedSecret, excludesOld: JSONValue? = nil
    ) throws -> JSONValue {
        try store.verdict(on: text, at: endpoint, password: password, ["exclude-old-transactions": excludesOld])
    }

    @Test("Receipts of the other environment get a status without other members")
    func environments() throws {
        let production = try receipt(.activeSubscription).base64
        let sandbox = try receipt(.activeSubscription, .sandbox).base64
        #expect(try ask(sandbox).bytes == Array("{\"status\":21007}".utf8))
        #expect(try ask(production, at: .sandbox).bytes == Array("{\"status\":21008}".utf8))
        #expect(try ask(sandbox, password: nil).bytes == Array("{\"status\":21007}".utf8))
        #expect(try ask(sandbox, at: .sandbox)["environment"]?.text == "Sandbox")
        #expect(try ask(production, at: .automatic)["environment"]?.text == "Production")
    }

    @Test(
        "The shared secret is required only for receipts with auto-renewable subscriptions",
        arguments: [nil, "", "wrong"])
    func passwords(password: String?) throws {
        let body = "{\"environment\":\"Production\",\"status\":21004}"
        let subscription = try receipt(.activeSubscription).base64
        #expect(try ask(subscription, password: password).bytes == Array(body.utf8))
        let old = try receipt(.oldActiveSubscription, version: 4).base64
        #expect(try ask(old, password: password)["status"]?.integer == 21004)
        #expect(try ask(receipt(.nonConsumable).base64, password: password)["status"]?.integer == 0)
    }

    @Test(
        "Malformed requests get 21002",
        arguments: [
            "", "{", "[]", "null", "{}", "{\"receipt-data\":5}", "{\"receipt-data\":\"\"}",
            "{\"receipt-data\":\"%%%\"}", "{\"receipt_data\":\"MIIB\"}", "{\"receipt-data\":\"aGVsbG8=\"}",
        ])
    func unreadable(body: String) throws {
        let answer = try store.verifyReceipt.answer(body: Array(body.utf8), at: .production)
        #expect(answer.bytes == Array("{\"status\":21002}".utf8))
    }

    @Test("The response to an App Receipt has Apple's keys in Apple's order")
    func appReceipt() throws {
        let receipt = try receipt(.activeSubscription)
        let answer = try ask(receipt.base64)
        #expect(
            keys(answer) == [
                "environment", "receipt", "latest_receipt_info", "latest_receipt", "pending_renewal_info", "status",
            ])
        #expect(keys(answer["receipt"]).prefix(3) == ["receipt_type", "adam_id", "app_item_id"])
        #expect(answer["receipt"]?["app_item_id"]?.integer == 1_234_567_890)
        let rows = try #require(answer["receipt"]?["in_app"]?.elements)
        #expect(rows.compactMap { $0["transaction_id"]?.text } == receipt.transactions.map(\.transactionId))
        let dates = try #require(answer["latest_receipt_info"]?.elements).compactMap {
            $0["purchase_date_ms"]?.text.flatMap { Int64($0) }
        }
        #expect(dates == dates.sorted(by: receipt.environment == .production ? (>) : (<)))
        let renewal = try #require(answer["pending_renewal_info"]?.elements?.first)
        #expect(
            keys(renewal) == ["auto_renew_product_id", "product_id", "original_transaction_id", "auto_renew_status"])
        let latest = try #require(answer["latest_receipt"]?.text)
        #expect(latest != receipt.base64)
        #expect(try ask(latest)["latest_receipt"]?.text == latest)
    }

    @Test(
        "exclude-old-transactions returns one row per subscription and other product",
        arguments: [JSONValue.bool(true), .string("true")])
    func excludeOld(flag: JSONValue) throws {
        let receipt = try receipt(.activeSubscription)
        let rows = try #require(try ask(receipt.base64, excludesOld: flag)["latest_receipt_info"]?.elements)
        #expect(rows.map { $0["product_id"]?.text } == ["com.example.app.monthly", "com.example.app.unlock"])
        #expect(rows.first?["transaction_id"]?.text == receipt.customer.transactions.last?.transactionId)
    }

    @Test("latest_receipt_info has at most the newest 100 rows")
    func cap() throws {
        let receipt = try receipt(.longHistory)
        let answer = try ask(receipt.base64)
        let rows = try #require(answer["latest_receipt_info"]?.elements)
        #expect(rows.count == 100)
        #expect(rows.first?["transaction_id"]?.text == receipt.customer.transactions.last?.transactionId)
        #expect(answer["receipt"]?["in_app"]?.elements?.count == receipt.transactions.count)
    }

    @Test("Finished consumables are omitted, and pending_renewal_info without an auto-renewable subscription")
    func consumables() throws {
        let answer = try ask(receipt(.consumables).base64)
        #expect(keys(answer) == ["environment", "receipt", "latest_receipt_info", "latest_receipt", "status"])
        #expect(answer["latest_receipt_info"]?.elements?.count == 1)
        #expect(answer["receipt"]?["in_app"]?.elements?.count == 1)
    }

    @Test("The response to a receipt of 2019, signed with SHA-1, has no ownership type")
    func oldReceipt() throws {
        let old = try receipt(.nonConsumable)
        let rows = try #require(try ask(old.base64)["receipt"]?["in_app"]?.elements)
        #expect(keys(rows.first).suffix(2) == ["original_purchase_date_pst", "is_trial_period"])
        let sha1 = DEREncoder.sequence(DEREncoder.objectIdentifier("1.3.14.3.2.26"), DEREncoder.null)
        #expect(old.bytes.firstRange(of: sha1) != nil)
        #expect(try receipt(.activeSubscription).bytes.firstRange(of: sha1) == nil)
    }

    @Test("A refund has its date and reason")
    func refund() throws {
        let answer = try ask(receipt(.refundedNonConsumable).base64)
        let rows = try #require(answer["latest_receipt_info"]?.elements)
        let refunded = try #require(rows.first { $0["cancellation_reason"] != nil })
        #expect(refunded["cancellation_reason"]?.text == "1")
        #expect(refunded["cancellation_date_ms"]?.text?.hasSuffix("586") == true)
        #expect(refunded["cancellation_date_pst"]?.text?.hasSuffix("America/Los_Angeles") == true)
    }

    @Test("The response to a transactionReceipt is flat: active, expired and one-time")
    func transactionReceipts() throws {
        let active = try ask(receipt(.oldActiveSubscription, version: 4).base64)
        #expect(active["environment"] == nil)
        #expect(active["auto_renew_status"]?.integer == 1)
        #expect(active["latest_receipt_info"]?["expires_date_formatted"]?.text?.hasSuffix("Etc/GMT") == true)
        #expect(active["latest_receipt_info"]?["version_external_identifier"] == nil)
        let latest = try #require(active["latest_receipt"]?.text)
        #expect(try ask(latest)["status"]?.integer == 0)
        let expired = try ask(receipt(.oldExpiredSubscription, version: 4).base64)
        #expect(expired["status"]?.integer == 21006)
        #expect(expired["latest_receipt"] == nil)
        #expect(expired["expiration_intent"]?.text == "1")
        #expect(expired["latest_expired_receipt_info"]?["bid"]?.text == "com.example.app")
        let once = try ask(receipt(.oldPurchase, version: 2).base64)
        #expect(keys(once) == ["receipt", "status"])
        #expect(once["receipt"]?["app_item_id"]?.text == "1234567890")
    }
}
