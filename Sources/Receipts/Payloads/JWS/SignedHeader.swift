import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation

/// The three segments of a compact JWS, not decoded.
///
///     BASE64URL(header) "." BASE64URL(payload) "." BASE64URL(signature)
///
/// See RFC 7515, 3.1.
struct CompactJWS {
    /// Maximum size of the header segment in bytes. Apple's headers have about 3,300 bytes.
    static let maximumHeaderBytes = 65_536

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
        // A third dot is not a base64 character, so a signature with one is malformed.
        signature = (second + 1)..<text.count
        signed = 0..<second
    }

    /// Returns a text without white space at its ends: people and scripts add line breaks. Most texts have none.
    static func trimmed(_ text: String) -> String {
        let bytes = text.utf8
        guard let first = bytes.first, let last = bytes.last, first <= 0x20 || last <= 0x20 else { return text }
        let end = bytes.lastIndex { $0 > 0x20 }.map { bytes.index(after: $0) } ?? bytes.startIndex
        return String(text[..<end].utf8.drop { $0 <= 0x20 }) ?? text
    }

    private static func dot(in text: borrowing Span<UInt8>, from start: Int) -> Int? {
        text.withUnsafeBytes { text in
            guard start < text.count, let base = text.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: ".")), text.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}

/// The header of a JWS signed by the App Store. `kid`, `jku`, `x5u` and `jwk` are ignored, because with them the
/// sender could choose the key.
///
///     { "alg": "ES256", "x5c": [ leaf, intermediate, root ] }
///
/// See RFC 7515, 4.1. Exactly three certificates are required, as in Apple's own libraries (ChainVerifier).
struct SignedHeader {
    private static let maximumCertificates = 5

    /// The certificates in DER, concatenated.
    let certificates: [UInt8]
    /// The byte range of each certificate; at least one.
    let ranges: [Range<Int>]
    let isES256: Bool
    /// What is unknown about the header's form: the algorithm, critical extensions, or the number of certificates.
    let unknownForm: SignedPayloadError?

    /// The chain of a header of the known form.
    var chain: PresentedChain { PresentedChain(leaf: ranges[0], authority: ranges[1], root: ranges[2]) }

    /// The signer of a header of any form.
    var signer: PresentedSigner { PresentedSigner(first: ranges, in: certificates.span) }

    /// Decodes and checks a header segment. The certificates are not verified here.
    init(segment: borrowing Span<UInt8>) throws(SignedPayloadError) {
        guard let bytes = Base64Text.decode(segment, .urlSafe) else {
            throw SignedPayloadError(.malformed, at: "header", "not base64url")
        }
        let (algorithm, isExtended, encodings): (String?, Bool, [String])
        do {
            let header = try JSONObject(bytes)
            (algorithm, isExtended) = (try header.text("alg"), header.has("crit"))
            encodings = try header.texts("x5c") ?? []
        } catch {
            throw SignedPayloadError(.malformed, at: "header", "\(error)")
        }
        isES256 = algorithm == "ES256"
        try Self.refuseUnsigned(algorithm)
        var certificates: [UInt8] = []
        var ranges: [Range<Int>] = []
        for (index, encoding) in encodings.prefix(Self.maximumCertificates).enumerated() {
            guard let der = Base64Text.decode(Array(encoding.utf8).span, .standard) else {
                throw SignedPayloadError(.x5c, at: "x5c[\(index)]", "not base64")
            }
            ranges.append(certificates.count..<(certificates.count + der.count))
            certificates += der
        }
        guard !ranges.isEmpty else { throw SignedPayloadError(.x5c, at: "x5c", "no certificate") }
        if encodings.count == 1, Self.isSelfIssued(certificates) {
            throw SignedPayloadError(
                .xcode, at: "x5c", "a single self-issued certificate, as used by StoreKit Testing in Xcode")
        }
        (self.certificates, self.ranges) = (certificates, ranges)
        if !isES256 {
            unknownForm = SignedPayloadError(.unsupportedAlgorithm, at: "header", "alg is not ES256")
        } else if isExtended {
            unknownForm = SignedPayloadError(
                .unsupportedForm, at: "header", "contains critical extensions (crit), which are not supported")
        } else if encodings.count != 3 {
            unknownForm = SignedPayloadError(
                .unsupportedForm, at: "x5c", "expected three certificates, found \(encodings.count)")
        } else {
            unknownForm = nil
        }
    }

    /// `none` and the symmetric algorithms prove nothing. The App Store may sign with another one in the future.
    private static func refuseUnsigned(_ algorithm: String?) throws(SignedPayloadError) {
        let name = algorithm?.lowercased() ?? "none"
        guard name != "none", !name.hasPrefix("hs") else {
            throw SignedPayloadError(.unsigned, at: "header", "alg is missing, none or symmetric")
        }
    }

    /// Used only to name the reason of a rejection, so a certificate that cannot be parsed counts as not self-issued.
    private static func isSelfIssued(_ der: [UInt8]) -> Bool {
        (try? Certificate(der: der.span))?.isSelfIssued ?? false
    }
}
