import ReceiptBridgeBase

/// A verified payload together with its JWS.
///
/// For input from outside, only `SignedPayloadVerifier` creates values of this type.
package struct Signed<Payload: Sendable>: Sendable {
    package let payload: Payload
    /// The whole compact JWS, which can be passed on to others.
    package let text: String

    /// The caller asserts that `text` was verified and contains `payload`.
    package init(payload: Payload, text: String) {
        self.payload = payload
        self.text = text
    }
}

extension Signed: Equatable where Payload: Equatable {}
extension Signed: Hashable where Payload: Hashable {}

extension Signed where Payload: SignedClaims {
    /// Parses a JWS from the store without verifying it again, because it was verified before it was stored. Returns
    /// `nil` for a damaged row.
    package init?(storedText text: String) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        guard let parts = try? CompactJWS(span, maximumBytes: bytes.count),
            let claims = Base64Text.decode(span.extracting(parts.payload), .urlSafe),
            let payload = try? Payload(JSONObject(claims))
        else { return nil }
        self.init(payload: payload, text: text)
    }
}
