import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

/// Compares the renderer with Apple's own responses, if they are available next to the checkout. The repository
/// contains none of them.
@Suite(
    "Genuine pairs of receipt and response",
    .enabled(
        if: Corpus.folder != nil,
        "the corpus ../shared/corpus is missing, so the tests with Apple's own responses are skipped")
)
struct GenuinePairTests {
    private func corpus(_ path: String) throws -> URL { try #require(Corpus.folder).appending(path: path) }

    private func blob(_ path: String) throws -> Data {
        let text = try String(contentsOf: corpus(path), encoding: .utf8)
        return try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters))
    }

    @Test(
        "The receipt object equals Apple's byte for byte, except for the documented edits of the corpus",
        arguments: [("sandbox-demo-7iap-20150813-sha1-e5ef15", 7), ("sandbox-fashion-42iap-20201108-sha1-b5549e", 42)])
    func appReceipt(name: String, count: Int) throws {
        let apple = JSONReader.compact(try String(contentsOf: corpus("responses/PAIR-\(name).json"), encoding: .utf8))
        let receipt = try BlobReader.appReceipt(try blob("app-receipts/\(name).b64"))
        #expect(receipt.purchases.count == count)
        let date = try #require(apple.firstMatch(of: /"request_date_ms":"(\d+)"/).flatMap { Int64($0.1) })
        let ours = answer(.app(receipt), environment: .sandbox, at: Timestamp(milliseconds: date))
        let edited = /"(bundle_id|product_id)":"[^"]*"/
        let expected = try #require(JSONReader.object("receipt", in: apple))
        let found = try #require(JSONReader.object("receipt", in: ours))
        if name.contains("fashion") {
            #expect(found.replacing(edited, with: "") == expected.replacing(edited, with: ""))
        } else {
            #expect(found == expected)
        }
    }

    @Test("exclude-old-transactions selects the rows of in_app that Apple's response of 2020 has")
    func excludedOld() throws {
        struct Response: Decodable {
            struct Receipt: Decodable { let in_app: [Row] }
            struct Row: Decodable {
                let product_id, transaction_id, original_transaction_id, purchase_date_ms: String
                let expires_date_ms: String?
            }
            let receipt: Receipt
            let latest_receipt_info: [Row]
        }
        let files = Corpus.files(in: "responses")
        let file = try #require(files.first { $0.lastPathComponent.contains("exclude_old_transactions") })
        let apple = try JSONDecoder().decode(Response.self, from: Data(contentsOf: file))
        func date(_ text: String?) -> Timestamp? { text.flatMap { Int64($0) }.map(Timestamp.init(milliseconds:)) }
        let purchases = apple.receipt.in_app.map { row in
            var purchase = InAppPurchase()
            purchase.productId = row.product_id
            purchase.transactionId = row.transaction_id
            purchase.originalTransactionId = row.original_transaction_id
            purchase.purchaseDate = date(row.purchase_date_ms)
            purchase.expiresDate = date(row.expires_date_ms)
            return purchase
        }
        #expect(purchases.count == 16 && apple.latest_receipt_info.count == 3)
        var receipt = AppReceipt()
        receipt.purchases = purchases
        let ours = answer(.app(receipt), environment: .sandbox, options: AnswerOptions(excludesOldTransactions: true))
        let ids = try values(of: "transaction_id", in: "latest_receipt_info", of: ours)
        #expect(ids == apple.latest_receipt_info.map(\.transaction_id))
    }

    @Test(
        "The flat receipt object has Apple's keys and values",
        arguments: [
            "PAIR-sandbox-v2-demo-sub-20151117-48b378", "PAIR-expired21006-sandbox-v2-demo-sub-20151117-48b378",
        ])
    func transactionReceipt(name: String) throws {
        let apple = try String(contentsOf: corpus("responses/\(name).json"), encoding: .utf8)
        let receipt = try BlobReader.transactionReceipt(
            try blob("transaction-receipts/sandbox-v2-demo-sub-20151117-48b378.b64"))
        let isExpired = name.contains("21006")
        let now = Timestamp(seconds: isExpired ? 1_700_000_000 : 1_447_900_000)
        let ours = answer(.transaction(receipt), environment: .sandbox, at: now)
        #expect(try flat("receipt", ours) == flat("receipt", apple))
        // Apple's latest object is another transaction of the same subscription, so only the keys are compared.
        let latest = isExpired ? "latest_expired_receipt_info" : "latest_receipt_info"
        #expect(try flat(latest, ours).keys == flat(latest, apple).keys)
        #expect(try topLevel(ours) == topLevel(apple))
    }

    private func flat(_ key: String, _ json: String) throws -> [String: String] {
        let object = try #require(JSONReader.object(key, in: JSONReader.compact(json)))
        return try JSONDecoder().decode([String: String].self, from: Data(object.utf8))
    }

    private func topLevel(_ json: String) throws -> Set<String> {
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        return Set(try #require(object).keys)
    }
}
