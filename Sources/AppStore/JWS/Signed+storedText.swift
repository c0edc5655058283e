import JSONReading
import StoreTypes

extension Signed where Payload: SignedClaims {
    /// Parses a signed text from the store without verifying it again, because it was verified before it was stored.
    ///
    /// Returns `nil` if the text cannot be parsed. In that case the stored row is damaged.
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
