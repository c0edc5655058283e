package import ReceiptBridgeBase

/// The content of a JWS of the App Store, and whether it is authentic. The JWS may be a transaction, a
/// renewal, an app transaction, or a notification with the JWS inside it.
///
/// The claims tell which one it is, see ``SignedKind``. Any other JWS is checked as a transaction.
package struct JWSInspection: Sendable {
    /// The signed payload, as JSON. Also set if the signature is not valid, as far as the payload can be read.
    package let claims: [UInt8]?
    /// The payloads of the JWS inside a notification, by claim name, for example `signedTransactionInfo`.
    package let nested: [(name: String, claims: [UInt8])]
    /// `nil` exactly if the JWS, and every JWS inside it, is authentic.
    package let failure: ReceiptDecodingError?
    package let environment: String?
    package let bundleId: String?
    /// The identifiers of a transaction or a renewal; for a notification, those of the JWS inside it.
    package let lookupKeys: CustomerIdentifiers
    /// The id of the customer's download of the app, of the payload or of a JWS inside a notification.
    package let appTransactionId: String?
    package let signedDate: Timestamp?
    /// The expiry date of a transaction, of the payload or of a JWS inside a notification.
    package let expiresDate: Timestamp?

    /// Reads as much as possible, even if the JWS is not authentic.
    package init(_ text: String, verifier: SignedPayloadVerifier, now: Timestamp) {
        let claims = Self.unverifiedClaims(of: text)
        let object = claims.flatMap { try? JSONObject($0) }
        var nested: [(name: String, claims: [UInt8])] = []
        var failure: ReceiptDecodingError?
        do throws(SignedPayloadError) {
            switch object.flatMap({ SignedKind($0) }) {
            case .notification:
                let verified = try verifier.verifyNotification(text, now: now)
                nested = [
                    ("signedTransactionInfo", verified.transaction?.payload.claims),
                    ("signedRenewalInfo", verified.renewal?.payload.claims),
                    ("signedAppTransactionInfo", verified.appTransaction?.payload.claims),
                ].compactMap { name, claims in claims.map { (name, Self.onOneLine($0)) } }
            case .appTransaction: _ = try verifier.verify(text, as: AppTransactionPayload.self, now: now)
            case .renewal: _ = try verifier.verify(text, as: RenewalPayload.self, now: now)
            case .transaction, .realTimeRequest, nil:
                _ = try verifier.verify(text, as: TransactionPayload.self, now: now)
            }
        } catch {
            failure = ReceiptDecodingError(error)
        }
        let sources = [object] + nested.map { try? JSONObject($0.claims) }
        lookupKeys = CustomerIdentifiers(
            originalTransactionIds: sources.map { Self.text("originalTransactionId", $0) },
            transactionIds: sources.map { Self.text("transactionId", $0) })
        appTransactionId = sources.lazy.compactMap { Self.text("appTransactionId", $0) }.first
        signedDate = (try? object?.date("signedDate")) ?? nil
        expiresDate = sources.lazy.compactMap { (try? $0?.date("expiresDate")) ?? nil }.max()
        self.claims = object == nil ? nil : claims.map(Self.onOneLine)
        self.nested = nested
        self.failure = failure
        let data = (try? object?.object("data")) ?? nil
        environment =
            Self.text("environment", object) ?? Self.text("receiptType", object) ?? Self.text("environment", data)
        bundleId = Self.text("bundleId", object) ?? Self.text("bundleId", data)
    }

    /// The payloads that are transactions: this one, or that inside a notification.
    package var transactions: [[UInt8]] {
        ([claims].compactMap(\.self) + nested.map(\.claims)).filter { claims in
            (try? JSONObject(claims)).flatMap { SignedKind($0) } == .transaction
        }
    }

    /// Replaces line breaks, which JSON allows only between tokens.
    private static func onOneLine(_ json: [UInt8]) -> [UInt8] { json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } }

    private static func text(_ name: StaticString, _ object: JSONObject?) -> String? {
        (try? object?.text(name)) ?? nil
    }

    /// Returns the payload of a JWS without verifying anything; `nil` if it cannot be decoded.
    package static func unverifiedClaims(of text: String) -> [UInt8]? {
        let segments = text.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3 else { return nil }
        return Base64Text.decode(Array(segments[1].utf8).span, .urlSafe)
    }
}

extension ReceiptDecodingError {
    /// Maps the failure of a JWS to the code that a receipt has for it.
    package init(_ error: SignedPayloadError) {
        let code: Code =
            switch error.code {
            case .malformed, .wrongKind, .wrongBundleId, .wrongAppAppleId, .wrongEnvironment: .malformed
            case .unsigned: .unsigned
            case .x5c: .malformedCertificate
            case .notAReceiptSigner: .notAReceiptSigner
            case .untrustedChain: .untrustedChain
            case .outsideValidity: .outsideValidity
            case .badSignature: .badSignature
            case .xcode: .xcodeReceipt
            case .unsupportedAlgorithm: .unsupportedAlgorithm
            case .unsupportedForm, .unexpectedType: .unknownStructure
            case .issuerUnknown: .issuerUnknown
            case .unavailable: .unavailable
            }
        self.init(code, at: error.place, error.reason)
    }
}
