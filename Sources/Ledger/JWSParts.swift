import Foundation
import StoreTypes

/// The decoded parts of a compact JWS, if encoding them again gives the same text byte for byte.
///
///     header "." BASE64URL(payload) "." BASE64URL(signature)
///
/// RFC 7515, 3.1.
struct JWSParts: Sendable, Hashable {
    /// The header, still in base64url. There are only a few in years, although each contains the signer's
    /// certificates.
    let header: [UInt8]
    let payload: [UInt8]
    /// The `ES256` signature of ``signatureBytes`` bytes.
    let signature: [UInt8]

    static let signatureBytes = 64
    private static let signatureCharacters = Base64Text.urlSafeCount(of: signatureBytes)

    /// `nil` if encoding the parts again would not give the same text. ``Base64Text`` accepts only the canonical
    /// base64url encoding of a value, and that is the one it writes.
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
