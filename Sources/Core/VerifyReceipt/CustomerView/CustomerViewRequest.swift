import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts

/// The body of `POST /v1/receipts`: exactly one of four keys. A signed renewal does not name its app, so `bundleId` is
/// needed with it where several apps are configured. Other keys are ignored. If none of the four is there, the body is
/// what a client library made of a purchase, or an HTML form, and the receipt in it counts.
///
/// ```
/// { "receiptData": base64 }               { "signedTransaction": "eyJ…" }
/// { "signedAppTransaction": "eyJ…" }      { "signedRenewalInfo": "eyJ…", "bundleId": … }
/// ```
enum CustomerViewRequest: Sendable {
    /// A receipt in base64, or anything that ``ReceiptProfile/stored`` finds a receipt or a signed text in.
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
    init(body: [UInt8]) throws(OperationError) {
        var forms: [Self] = []
        var reason =
            "exactly one of receiptData, signedTransaction, signedAppTransaction and signedRenewalInfo is required, "
            + "and must not be empty"
        do {
            let object = try JSONObject(body)
            let bundleId = object.has("signedRenewalInfo") ? try object.text("bundleId") : nil
            forms = [
                try Self.receiptData(in: object),
                try Self.signedText("signedTransaction", in: object).map { .signedTransaction($0) },
                try Self.signedText("signedAppTransaction", in: object).map { .signedAppTransaction($0) },
                try Self.signedText("signedRenewalInfo", in: object).map {
                    .signedRenewalInfo($0, bundleId: bundleId)
                },
            ].compactMap(\.self)
        } catch let error as JSONFieldError {
            throw OperationError(.malformedRequest, "\(error)")
        } catch {
            reason = "the body is not a JSON object"
        }
        guard forms.count == 1, !forms[0].isEmpty else {
            guard forms.isEmpty, ReceiptDecoder.containsReceipt(body.span) else {
                throw OperationError(.malformedRequest, reason)
            }
            self = .receiptData(Redacted(body))
            return
        }
        self = forms[0]
    }

    /// The receipt as text, or as the object or array that a client library made of it, for example Node's `Buffer`.
    private static func receiptData(in object: JSONObject) throws(JSONFieldError) -> Self? {
        guard let json = object.rawJSON("receiptData") else { return nil }
        let isContainer = json.first == UInt8(ascii: "{") || json.first == UInt8(ascii: "[")
        let text = isContainer ? json : try object.text("receiptData").map { Array($0.utf8) }
        return text.map { .receiptData(Redacted($0)) }
    }

    /// A JWS, which contains no white space. A line feed at its end comes from a file or a shell variable.
    private static func signedText(
        _ name: StaticString, in object: JSONObject
    ) throws(JSONFieldError) -> Redacted<String>? {
        try object.text(name).map { Redacted($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    private var isEmpty: Bool {
        switch self {
        case .receiptData(let text): text.reveal().isEmpty
        case .signedTransaction(let text), .signedAppTransaction(let text), .signedRenewalInfo(let text, _):
            text.reveal().isEmpty
        }
    }
}
