import JSONReading
import Cryptography
import StoreTypes

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
            guard try header.text("alg") == "ES256" else {
                throw SignedPayloadError(.unsupportedAlgorithm, at: "header", "alg is not ES256")
            }
            guard !header.has("crit") else {
                throw SignedPayloadError(
                    .malformed, at: "header", "contains critical extensions (crit), which are not supported")
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
            throw SignedPayloadError(.x5c, at: "x5c", "expected three certificates, found \(encodings.count)")
        }
        self.certificates = certificates
        chain = PresentedChain(leaf: ranges[0], authority: ranges[1], root: ranges[2])
    }

    private static func isSelfIssued(_ der: [UInt8]) -> Bool {
        (try? Certificate(der: der.span))?.isSelfIssued ?? false
    }
}
