/// A verified payload together with its signed text.
///
/// For input from outside, only `SignedPayloadVerifier` creates values of this type.
package struct Signed<Payload: Sendable>: Sendable {
    /// The decoded payload.
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
