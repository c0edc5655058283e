import Base
import Cryptography
import Foundation

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
        // A third dot is not a base64 character, so a signature with one is malformed.
        signature = (second + 1)..<text.count
        signed = 0..<second
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
    /// The three certificates in DER, concatenated.
    let certificates: [UInt8]
    /// The byte range of each certificate.
    let chain: PresentedChain

    /// Decodes and checks a header segment. The certificates are not verified here.
    init(segment: borrowing Span<UInt8>) throws(SignedPayloadError) {
        guard let bytes = Base64Text.decode(segment, .urlSafe) else {
            throw SignedPayloadError(.malformed, at: "header", "not base64url")
        }
        let encodings: [String]
        do {
            let header = try JSONObject(bytes)
            let algorithm = try header.text("alg")
            guard algorithm == "ES256" else { throw Self.refusal(of: algorithm) }
            guard !header.has("crit") else {
                throw SignedPayloadError(
                    .unsupportedForm, at: "header", "contains critical extensions (crit), which are not supported")
            }
            encodings = try header.texts("x5c") ?? []
        } catch let error as SignedPayloadError {
            throw error
        } catch {
            throw SignedPayloadError(.malformed, at: "header", "\(error)")
        }
        var certificates: [UInt8] = []
        var ranges: [Range<Int>] = []
        for (index, encoding) in encodings.prefix(3).enumerated() {
            guard let der = Base64Text.decode(Array(encoding.utf8).span, .standard) else {
                throw SignedPayloadError(.x5c, at: "x5c[\(index)]", "not base64")
            }
            ranges.append(certificates.count..<(certificates.count + der.count))
            certificates += der
        }
        if encodings.count == 1, Self.isSelfIssued(certificates) {
            throw SignedPayloadError(
                .xcode, at: "x5c", "a single self-issued certificate, as used by StoreKit Testing in Xcode")
        }
        guard encodings.count == 3 else {
            throw SignedPayloadError(
                encodings.isEmpty ? .x5c : .unsupportedForm, at: "x5c",
                "expected three certificates, found \(encodings.count)")
        }
        self.certificates = certificates
        chain = PresentedChain(leaf: ranges[0], authority: ranges[1], root: ranges[2])
    }

    /// `none` and the symmetric algorithms prove nothing. The App Store may sign with another one in the future.
    private static func refusal(of algorithm: String?) -> SignedPayloadError {
        let name = algorithm?.lowercased() ?? "none"
        return name == "none" || name.hasPrefix("hs")
            ? SignedPayloadError(.unsigned, at: "header", "alg is missing, none or symmetric")
            : SignedPayloadError(.unsupportedAlgorithm, at: "header", "alg is not ES256")
    }

    /// Used only to name the reason of a rejection, so a certificate that cannot be parsed counts as not self-issued.
    private static func isSelfIssued(_ der: [UInt8]) -> Bool {
        (try? Certificate(der: der.span))?.isSelfIssued ?? false
    }
}
