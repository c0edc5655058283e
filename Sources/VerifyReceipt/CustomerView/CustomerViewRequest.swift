import JSON
package import AppStoreTypes

/// The body of `POST /v1/receipts`: exactly one of four keys. A signed renewal does not name its app, so `bundleId` is
/// needed with it where several apps are configured. Other keys are ignored.
///
/// ```
/// { "receiptData": base64 }               { "signedTransaction": "eyJ…" }
/// { "signedAppTransaction": "eyJ…" }      { "signedRenewalInfo": "eyJ…", "bundleId": … }
/// ```
package enum CustomerViewRequest: Sendable {
    /// A receipt file of an app, in base64.
    case receiptData(Redacted<[UInt8]>)
    /// A signed transaction (JWS) of StoreKit 2.
    case signedTransaction(Redacted<String>)
    /// A signed app transaction (JWS) of StoreKit 2.
    case signedAppTransaction(Redacted<String>)
    /// A signed renewal (JWS) of StoreKit 2.
    case signedRenewalInfo(Redacted<String>, bundleId: String?)

    /// Parses a body.
    ///
    /// - Throws: `malformedRequest`.
    package init(body: [UInt8]) throws(CustomerViewError) {
        let forms: [Self]
        do {
            let object = try JSONObject(body)
            let bundleId = object.has("signedRenewalInfo") ? try object.text("bundleId") : nil
            forms = [
                try object.text("receiptData").map { .receiptData(Redacted(Array($0.utf8))) },
                try object.text("signedTransaction").map { .signedTransaction(Redacted($0)) },
                try object.text("signedAppTransaction").map { .signedAppTransaction(Redacted($0)) },
                try object.text("signedRenewalInfo").map { .signedRenewalInfo(Redacted($0), bundleId: bundleId) },
            ].compactMap(\.self)
        } catch let error as JSONFieldError {
            throw CustomerViewError(.malformedRequest, "\(error)")
        } catch {
            throw CustomerViewError(.malformedRequest, "the body is not a JSON object")
        }
        guard forms.count == 1, !forms[0].isEmpty else {
            throw CustomerViewError(
                .malformedRequest,
                "exactly one of receiptData, signedTransaction, signedAppTransaction and signedRenewalInfo is required, "
                    + "and must not be empty")
        }
        self = forms[0]
    }

    private var isEmpty: Bool {
        switch self {
        case .receiptData(let text): text.reveal().isEmpty
        case .signedTransaction(let text), .signedAppTransaction(let text), .signedRenewalInfo(let text, _):
            text.reveal().isEmpty
        }
    }
}
