import Cryptography

/// The body of a version 2 notification as the App Store posts it.
package enum CanonicalNotificationBody {
    private static let begin = Array(#"{"signedPayload":""#.utf8)
    private static let end = Array(#""}"#.utf8)

    /// Returns `{"signedPayload":"eyJ…"}`.
    ///
    /// - Parameter text: a compact JWS, which needs no escaping.
    package static func version2(_ text: String) -> [UInt8] { begin + Array(text.utf8) + end }

    /// Returns whether a body equals the canonical body byte for byte.
    static func isVersion2(_ body: [UInt8], of text: String) -> Bool {
        let text = Array(text.utf8)
        let range = begin.count..<(begin.count + text.count)
        guard body.count == range.upperBound + end.count else { return false }
        return body.span.holds(begin, at: 0..<range.lowerBound) && body.span.holds(text, at: range)
            && body.span.holds(end, at: range.upperBound..<body.count)
    }
}
