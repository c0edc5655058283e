package import AppStore
import JSONReading
package import ReceiptDecoding
package import StoreTypes

/// What a signed text (JWS) of the App Store is found to be: a transaction, a renewal, an app transaction or a
/// notification with what is signed inside it.
package struct JWSInspection: Sendable {
    /// The payload as it was signed, JSON; also where it is not believed, as far as it can be read.
    package let claims: [UInt8]?
    /// By the name of the claim that held it: payloads of texts inside a notification.
    package let nested: [(name: String, claims: [UInt8])]
    /// Nil exactly when the text, and all that is signed inside it, is authentic.
    package let failure: ReceiptDecodingError?
    /// As the payload says.
    package let environment: String?
    /// As the payload says.
    package let bundleId: String?
    /// Of a transaction or a renewal; of a notification those of what it holds.
    package let lookupKeys: CustomerIdentifiers
    /// When it was signed, as the payload says.
    package let signedDate: Timestamp?

    /// Reads as much as possible, authentic or not.
    package init(_ text: String, verifier: SignedPayloadVerifier, now: Timestamp) {
        let claims = Self.unverifiedClaims(of: text)
        let object = claims.flatMap { try? JSONObject($0) }
        var nested: [(name: String, claims: [UInt8])] = []
        var failure: ReceiptDecodingError?
        do throws(SignedPayloadError) {
            if object?.has("notificationType") == true {
                let verified = try verifier.verifyNotification(text, now: now)
                nested = [
                    ("signedTransactionInfo", verified.transaction?.payload.claims),
                    ("signedRenewalInfo", verified.renewal?.payload.claims),
                    ("signedAppTransactionInfo", verified.appTransaction?.payload.claims),
                ].compactMap { name, claims in claims.map { (name, Self.onOneLine($0)) } }
            } else if object?.has("receiptType") == true {
                _ = try verifier.verify(text, as: AppTransactionPayload.self, now: now)
            } else if object?.has("autoRenewProductId") == true || object?.has("autoRenewStatus") == true {
                _ = try verifier.verify(text, as: RenewalPayload.self, now: now)
            } else {
                _ = try verifier.verify(text, as: TransactionPayload.self, now: now)
            }
        } catch {
            failure = ReceiptDecodingError(error)
        }
        let sources = [object] + nested.map { try? JSONObject($0.claims) }
        lookupKeys = CustomerIdentifiers(
            originalTransactionIds: sources.map { Self.text("originalTransactionId", $0) },
            transactionIds: sources.map { Self.text("transactionId", $0) })
        signedDate = (try? object?.date("signedDate")) ?? nil
        self.claims = object == nil ? nil : claims.map(Self.onOneLine)
        self.nested = nested
        self.failure = failure
        let data = (try? object?.object("data")) ?? nil
        environment =
            Self.text("environment", object) ?? Self.text("receiptType", object) ?? Self.text("environment", data)
        bundleId = Self.text("bundleId", object) ?? Self.text("bundleId", data)
    }

    /// JSON has line breaks between its tokens only.
    private static func onOneLine(_ json: [UInt8]) -> [UInt8] {
        json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }

    private static func text(_ name: StaticString, _ object: JSONObject?) -> String? {
        (try? object?.text(name)) ?? nil
    }

    private static func unverifiedClaims(of text: String) -> [UInt8]? {
        let segments = text.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3 else { return nil }
        return Base64Text.decode(Array(segments[1].utf8).span, .urlSafe)
    }
}

extension ReceiptDecodingError {
    /// The same codes for a signed text as for a receipt.
    init(_ error: SignedPayloadError) {
        let code: Code =
            switch error.code {
            case .malformed: .malformed
            case .unsupportedAlgorithm: .unsupportedAlgorithm
            case .x5c: .malformedCertificate
            case .notAReceiptSigner: .notAReceiptSigner
            case .untrustedChain: .untrustedChain
            case .outsideValidity: .outsideValidity
            case .badSignature: .badSignature
            case .xcode: .xcodeReceipt
            case .unavailable: .unavailable
            default: .malformed
            }
        self.init(code, at: error.place, error.reason)
    }
}
