import JSONReading
package import StoreTypes

/// The body of `POST /v1/receipts`: exactly one of two keys. Other keys are ignored.
///
/// ```
/// { "receiptData": base64 }    { "signedTransaction": "eyJ…" }
/// ```
package enum CustomerViewRequest: Sendable {
    /// A receipt file of an app, in base64.
    case receiptData(Redacted<[UInt8]>)
    /// A signed transaction (JWS) of StoreKit 2.
    case signedTransaction(Redacted<String>)

    /// Parses a body.
    ///
    /// - Throws: `malformedRequest`.
    package init(body: [UInt8]) throws(CustomerViewError) {
        let receipt: String?
        let transaction: String?
        do {
            let object = try JSONObject(body)
            (receipt, transaction) = (try object.text("receiptData"), try object.text("signedTransaction"))
        } catch let error as JSONFieldError {
            throw CustomerViewError(.malformedRequest, "\(error)")
        } catch {
            throw CustomerViewError(.malformedRequest, "the body is not a JSON object")
        }
        switch (receipt, transaction) {
        case (let receipt?, nil) where !receipt.isEmpty: self = .receiptData(Redacted(Array(receipt.utf8)))
        case (nil, let transaction?) where !transaction.isEmpty: self = .signedTransaction(Redacted(transaction))
        default:
            throw CustomerViewError(
                .malformedRequest, "exactly one of receiptData and signedTransaction is required, and must not be empty"
            )
        }
    }
}
