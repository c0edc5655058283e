/// The three segments of a compact JWS, not decoded.
///
///     BASE64URL(header) "." BASE64URL(payload) "." BASE64URL(signature)
///
/// See RFC 7515, 3.1.
struct CompactJWS {
    /// Maximum size of the header segment in bytes. Apple's headers have about 3,300 bytes.
    static let maximumHeaderBytes = 65_536

    /// The byte ranges of the three segments.
    let header, payload, signature: Range<Int>
    /// The signed bytes: header, dot and payload.
    let signed: Range<Int>

    /// Splits the text at its dots. Throws `malformed` if it is too long or does not have three non-empty segments.
    init(_ text: borrowing Span<UInt8>, maximumBytes: Int) throws(SignedPayloadError) {
        guard text.count <= maximumBytes else {
            throw SignedPayloadError(.malformed, at: "text", "longer than \(maximumBytes) bytes")
        }
        guard let first = Self.dot(in: text, from: 0), let second = Self.dot(in: text, from: first + 1),
            first > 0, second > first + 1, second + 1 < text.count
        else { throw SignedPayloadError(.malformed, at: "text", "expected three segments separated by dots") }
        guard first <= Self.maximumHeaderBytes else {
            throw SignedPayloadError(.malformed, at: "header", "longer than \(Self.maximumHeaderBytes) bytes")
        }
        header = 0..<first
        payload = (first + 1)..<second
        // A third dot is not a base64 character, so decoding the signature rejects it.
        signature = (second + 1)..<text.count
        signed = 0..<second
    }

    private static func dot(in text: borrowing Span<UInt8>, from start: Int) -> Int? {
        text.withUnsafeBufferPointer { $0[start...].firstIndex(of: UInt8(ascii: ".")) }
    }
}
