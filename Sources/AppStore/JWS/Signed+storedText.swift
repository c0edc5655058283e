import JSONReading
import StoreTypes

extension Signed where Payload: SignedClaims {
    /// Reads a text that was verified when it was put where it comes from; nothing is verified again.
    ///
    /// Nil for what is no such text: then the place it comes from is damaged.
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
