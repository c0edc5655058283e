import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

/// Compares the renderer with Apple's own response, if it is available next to the checkout. `GenuineResponseTests`
/// compares whole responses.
@Suite(
    "Rows of genuine responses",
    .enabled(
        if: Corpus.folder != nil,
        "the corpus ../shared/corpus is missing, so the tests with Apple's own responses are skipped")
)
struct GenuinePairTests {
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
}
