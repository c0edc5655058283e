/// A payload whose signature held, and the text it came in.
///
/// Only `SignedPayloadVerifier` makes these from what comes from outside.
package struct Signed<Payload: Sendable>: Sendable {
    /// What was signed.
    package let payload: Payload
    /// The whole compact JWS, fit to be handed on.
    package let text: String

    /// Vouches that `text` was verified and says `payload`.
    package init(payload: Payload, text: String) {
        self.payload = payload
        self.text = text
    }
}

extension Signed: Equatable where Payload: Equatable {}
extension Signed: Hashable where Payload: Hashable {}
