import Foundation
import StoreTypes

/// A compact JWS taken apart, where its parts give back its text byte for byte.
///
///     header "." BASE64URL(payload) "." BASE64URL(signature)
///
/// RFC 7515, 3.1.
struct JWSParts: Sendable, Hashable {
    /// As it is spelled: one of a few in years, since it holds the signer's certificates.
    let header: [UInt8]
    let payload: [UInt8]
    /// Of `ES256`: ``signatureBytes`` of them.
    let signature: [UInt8]

    static let signatureBytes = 64
    private static let signatureCharacters = Base64Text.urlSafeCount(of: signatureBytes)

    /// Nil for every text that the parts would not give back. ``Base64Text`` takes one spelling of each value, and only
    /// that one is written again.
    init?(_ text: String) {
        var text = text
        let parts = text.withUTF8 { bytes -> (header: [UInt8], payload: [UInt8], signature: [UInt8])? in
            let end = bytes.count - Self.signatureCharacters
            guard let first = bytes.firstIndex(of: UInt8(ascii: ".")), first + 1 < end,
                bytes[end - 1] == UInt8(ascii: "."),
                let payload = Self.decode(bytes[(first + 1)..<(end - 1)]),
                let signature = Self.decode(bytes[end...])
            else { return nil }
            return (Array(bytes[..<first]), payload, signature)
        }
        guard let parts else { return nil }
        (header, payload, signature) = parts
    }

    private static func decode(_ segment: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8]? {
        Base64Text.decode(UnsafeBufferPointer(rebasing: segment).span, .urlSafe)
    }
}
