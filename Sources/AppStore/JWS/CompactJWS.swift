/// A signed text cut at its dots, nothing decoded.
///
///     BASE64URL(header) "." BASE64URL(payload) "." BASE64URL(signature)
///
/// RFC 7515, 3.1.
struct CompactJWS {
    /// Longer headers are refused; Apple's are 3,300 bytes.
    static let maximumHeaderBytes = 65_536

    /// Where the three segments stand.
    let header, payload, signature: Range<Int>
    /// Header, dot and payload: what the signature is over.
    let signed: Range<Int>

    init(_ text: borrowing Span<UInt8>, maximumBytes: Int) throws(SignedPayloadError) {
        guard text.count <= maximumBytes else {
            throw SignedPayloadError(.malformed, at: "text", "longer than \(maximumBytes) bytes")
        }
        guard let first = Self.dot(in: text, from: 0), let second = Self.dot(in: text, from: first + 1),
            first > 0, second > first + 1, second + 1 < text.count
        else { throw SignedPayloadError(.malformed, at: "text", "not three segments between dots") }
        guard first <= Self.maximumHeaderBytes else {
            throw SignedPayloadError(.malformed, at: "header", "longer than \(Self.maximumHeaderBytes) bytes")
        }
        header = 0..<first
        payload = (first + 1)..<second
        // A further dot is no base64 and fails there.
        signature = (second + 1)..<text.count
        signed = 0..<second
    }

    private static func dot(in text: borrowing Span<UInt8>, from start: Int) -> Int? {
        text.withUnsafeBufferPointer { $0[start...].firstIndex(of: UInt8(ascii: ".")) }
    }
}
