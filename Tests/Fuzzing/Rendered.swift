import JSONReading
import Purchases
import ReceiptDecoding
import Rendering
import StoreTypes

/// Checks that the output for a receipt is valid JSON, whatever the receipt contains, authentic or not.
enum Rendered {
    private static let camelCase = CamelCaseRenderer(tables: .bundled)
    private static let answers = VerifyReceiptRenderer(tables: .bundled)
    static let now = Timestamp(seconds: 1_795_262_400)

    static func check(_ contents: ReceiptContents) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("receipt")
        camelCase.writeReceipt(contents, into: &writer)
        writer.key("transactions")
        camelCase.writeTransactions(of: contents, into: &writer)
        writer.endObject()
        isJSON(writer.finish())
        let history = PurchaseHistory(
            receipt: contents, environment: contents.environment ?? .production, submittedText: Redacted([]))
        isJSON(answers.receiptAnswer(history: history, requestDate: now).body)
    }

    static func isJSON(_ text: [UInt8]) {
        require((try? JSONObject(text)) != nil, "the output is JSON")
        require(String(validating: text, as: UTF8.self) != nil, "the output is UTF-8")
    }
}
