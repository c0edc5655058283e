import JSONReading
package import Cryptography
package import StoreTypes

/// Reads what the App Store signed: compact JWS with `ES256` and three certificates, judged at the time of signing.
///
/// The order of things: the chain, the signature, and only then the payload; its date must lie within the chain's
/// window. A header met before costs nothing, so that a text costs one P-256 verification.
package struct SignedPayloadVerifier: Sendable {
    private let trust: TrustStore
    private let maximumBytes: Int
    private let headers: HeaderCache

    /// - Parameters:
    ///   - maximumBytes: of a whole text; Apple's are 5 KB, notifications 20 KB.
    ///   - cacheCapacity: headers; Apple has used about five in five years.
    package init(trust: TrustStore, maximumBytes: Int = 1 << 20, cacheCapacity: Int = 32) {
        self.trust = trust
        self.maximumBytes = maximumBytes
        headers = HeaderCache(capacity: cacheCapacity)
    }

    /// The payload of a genuine text.
    ///
    /// - Parameter now: the time at which a payload without a date counts as signed.
    package func verify<Payload: SignedClaims>(
        _ text: String, as kind: Payload.Type = Payload.self, expecting requirements: PayloadRequirements = .any,
        now: Timestamp
    ) throws(SignedPayloadError) -> Signed<Payload> {
        let (payload, window) = try open(text, as: kind)
        try Self.check(payload.signingDate ?? now, Payload.signingDateName, window)
        try requirements.check(payload)
        return Signed(payload: payload, text: text)
    }

    /// A payload whose signature held, and when its signer's chain was valid, in seconds since 1970.
    func open<Payload: SignedClaims>(
        _ text: String, as: Payload.Type
    ) throws(SignedPayloadError) -> (payload: Payload, window: ClosedRange<Int64>) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        let parts = try CompactJWS(span, maximumBytes: maximumBytes)
        let signer = try signer(of: parts, in: span)
        guard let claims = Base64Text.decode(span.extracting(parts.payload), .urlSafe) else {
            throw SignedPayloadError(.malformed, at: "payload", "not base64url")
        }
        do {
            return (try Payload(JSONObject(claims)), signer.window)
        } catch let error as JSONFieldError {
            throw SignedPayloadError(.malformed, at: error.name, "not \(error.expected)")
        } catch {
            throw SignedPayloadError(.malformed, at: "payload", "\(error)")
        }
    }

    /// The signer, whose signature held.
    private func signer(
        of parts: CompactJWS, in text: borrowing Span<UInt8>
    ) throws(SignedPayloadError) -> VerifiedSigner {
        let known = headers.signer(of: parts.header, in: text)
        let signer: VerifiedSigner
        if let known { signer = known } else { signer = try verifyHeader(of: parts, in: text) }
        guard let raw = Base64Text.decode(text.extracting(parts.signature), .urlSafe) else {
            throw SignedPayloadError(.malformed, at: "signature", "not base64url")
        }
        guard let signature = ES256Signature.der(raw: raw.span) else {
            throw SignedPayloadError(.badSignature, at: "signature", "\(raw.count) bytes in place of 64")
        }
        do throws(CryptographyError) {
            try signer.key.verify(signature.span, over: text.extracting(parts.signed), digest: .sha256)
        } catch {
            throw SignedPayloadError(error)
        }
        if known == nil { headers.insert(signer, for: parts.header, in: text) }
        return signer
    }

    private func verifyHeader(
        of parts: CompactJWS, in text: borrowing Span<UInt8>
    ) throws(SignedPayloadError) -> VerifiedSigner {
        let header = try SignedHeader(segment: text.extracting(parts.header))
        let signer: VerifiedSigner
        do throws(CryptographyError) {
            signer = try trust.signer(of: header.chain, in: header.certificates.span, role: .storeReceipt)
        } catch {
            throw SignedPayloadError(error)
        }
        guard signer.key.isP256 else {
            throw SignedPayloadError(.unsupportedAlgorithm, at: "x5c[0]", "not a key of ES256")
        }
        return signer
    }

    static func check(_ time: Timestamp, _ place: String, _ window: ClosedRange<Int64>) throws(SignedPayloadError) {
        guard window.contains(time.seconds) else {
            throw SignedPayloadError(
                .outsideValidity, at: place, "the signer's chain was not valid at the time of signing")
        }
    }

    /// The one signature verification that a text of a known signer costs, made ready to be measured alone.
    ///
    /// - Throws: `SignedPayloadError`, `CryptographyError`.
    package func bareVerification(of text: String) throws -> BenchmarkVerification {
        let bytes = Array(text.utf8)
        let span = bytes.span
        let parts = try CompactJWS(span, maximumBytes: maximumBytes)
        let signer = try signer(of: parts, in: span)
        let raw = Base64Text.decode(span.extracting(parts.signature), .urlSafe) ?? []
        return try BenchmarkVerification(
            key: signer.key, signature: ES256Signature.der(raw: raw.span) ?? [],
            message: span.extracting(parts.signed).withUnsafeBufferPointer { [UInt8]($0) }, digest: .sha256)
    }
}
