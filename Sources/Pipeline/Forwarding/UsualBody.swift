/// A notification's body as the App Store posts it.
package enum UsualBody {
    /// `{"signedPayload":"eyJ…"}`
    ///
    /// - Parameter text: a compact JWS, which needs no escaping.
    package static func version2(_ text: String) -> [UInt8] { Array(#"{"signedPayload":"\#(text)"}"#.utf8) }
}
