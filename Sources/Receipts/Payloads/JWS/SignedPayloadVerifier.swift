package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// Verifies compact JWS that the App Store signed, with `ES256` and three certificates, checked for the time of
/// signing.
///
/// The certificate chain is verified first, then the signature, and only then is the payload read. The payload's date
/// must lie within the validity of the chain. Verified headers are cached, so that a further JWS with the same
/// header costs one P-256 verification.
package struct SignedPayloadVerifier: Sendable {
    private let trust: TrustStore
    private let maximumBytes: Int
    private let headers: HeaderCache
    private let reportLeftOut: @Sendable (JSONFieldError) -> Void

    /// `maximumBytes` is that of a JWS: Apple's have 5 KB, notifications 20 KB. `cacheCapacity` is the maximum number
    /// of cached headers: Apple has used about five in five years. `reportLeftOut` is called for each claim that was
    /// left out because its type is not the documented one.
    package init(
        trust: TrustStore, maximumBytes: Int = 1 << 20, cacheCapacity: Int = 32,
        reportLeftOut: @escaping @Sendable (JSONFieldError) -> Void = { _ in }
    ) {
        (self.trust, self.reportLeftOut, self.maximumBytes) = (trust, reportLeftOut, maximumBytes)
        headers = HeaderCache(signers: FIFOCache(capacity: cacheCapacity))
    }

    /// Verifies a JWS and returns its payload. `now` is the time of signing to assume if the payload has no date.
    package func verify<Payload: SignedClaims>(
        _ text: String, as kind: Payload.Type = Payload.self, expecting requirements: PayloadRequirements = .any,
        now: Timestamp
    ) throws(SignedPayloadError) -> Signed<Payload> {
        let (payload, text, window) = try open(text, as: kind)
        try Self.check(payload.signingDate, Payload.signingDateName, window, now: now)
        try requirements.check(payload)
        return Signed(payload: payload, text: text)
    }

    /// Verifies the signature and reads the payload. Also returns the text without white space around it, and the
    /// validity of the signer's chain, in seconds since 1970. The caller must check the date and the claims.
    func open<Payload: SignedClaims>(
        _ presented: String, as: Payload.Type
    ) throws(SignedPayloadError) -> (payload: Payload, text: String, window: ClosedRange<Int64>) {
        let text = CompactJWS.trimmed(presented)
        let bytes = Array(text.utf8)
        let span = bytes.span
        let parts = try CompactJWS(span, maximumBytes: maximumBytes)
        let signer = try signer(of: parts, in: span)
        guard let claims = Base64Text.decode(span.extracting(parts.payload), .urlSafe) else {
            throw SignedPayloadError(.malformed, at: "payload", "not base64url")
        }
        let object: JSONObject
        do throws(JSONStructureError) {
            object = try JSONObject(claims)
        } catch {
            throw SignedPayloadError(.malformed, at: "payload", "\(error)")
        }
        if !Payload.kinds.contains(where: { $0.matches(object) }), let kind = SignedKind(object) {
            throw SignedPayloadError(.wrongKind, at: "payload", kind.description(insteadOf: Payload.kinds))
        }
        do throws(JSONFieldError) {
            return (try read(object) { claims throws(JSONFieldError) in try Payload(&claims) }, text, signer.window)
        } catch {
            throw SignedPayloadError(.unexpectedType, at: error.name, "not \(error.expected)")
        }
    }

    /// Reads an object of the App Store and reports the members that were left out.
    package func read<Value>(
        _ object: JSONObject, _ body: (inout ClaimReader) throws(JSONFieldError) -> Value
    ) throws(JSONFieldError) -> Value {
        var claims = ClaimReader(object)
        let value = try body(&claims)
        for error in claims.leftOut { reportLeftOut(error) }
        return value
    }

    private func signer(
        of parts: CompactJWS, in text: borrowing Span<UInt8>
    ) throws(SignedPayloadError) -> VerifiedSigner {
        let cached = headers.signer(of: parts.header, in: text)
        let signer: VerifiedSigner
        if let cached { signer = cached } else { signer = try verifyHeader(of: parts, in: text) }
        try Self.verifySignature(of: parts, in: text, key: signer.key)
        if cached == nil { headers.insert(signer, for: parts.header, in: text) }
        return signer
    }

    private static func verifySignature(
        of parts: CompactJWS, in text: borrowing Span<UInt8>, key: VerifyingKey
    ) throws(SignedPayloadError) {
        guard let raw = Base64Text.decode(text.extracting(parts.signature), .urlSafe) else {
            throw SignedPayloadError(.malformed, at: "signature", "not base64url")
        }
        guard let signature = ES256Signature.der(raw: raw.span) else {
            throw SignedPayloadError(.badSignature, at: "signature", "expected 64 bytes, found \(raw.count)")
        }
        do throws(CryptographyError) {
            try key.verify(signature.span, over: text.extracting(parts.signed), digest: .sha256)
        } catch {
            throw SignedPayloadError(error)
        }
    }

    /// Verifies the certificate chain of the header. The signature of the JWS is not checked here.
    private func verifyHeader(
        of parts: CompactJWS, in text: borrowing Span<UInt8>
    ) throws(SignedPayloadError) -> VerifiedSigner {
        let header = try SignedHeader(segment: text.extracting(parts.header))
        if let form = header.unknownForm { throw verdict(on: form, header, of: parts, in: text) }
        let signer: VerifiedSigner
        do throws(CryptographyError) {
            signer = try trust.signer(of: header.chain, in: header.certificates.span, role: .storeReceipt)
        } catch {
            let failure = SignedPayloadError(error)
            throw failure.verdict == .notJudged ? verdict(on: failure, header, of: parts, in: text) : failure
        }
        guard signer.key.isP256 else {
            throw SignedPayloadError(.unsupportedAlgorithm, at: "x5c[0]", "not a P-256 key, which ES256 requires")
        }
        return signer
    }

    /// Returns why a JWS of an unknown form is rejected: it is not judged if a certificate of the App Store vouches for
    /// it, and forged otherwise. Whoever is not the App Store must not be able to choose the verdict.
    private func verdict(
        on form: SignedPayloadError, _ header: SignedHeader, of parts: CompactJWS, in text: borrowing Span<UInt8>
    ) -> SignedPayloadError {
        guard form.code != .unavailable else { return form }
        let certificates = header.certificates.span
        let key: VerifyingKey
        do throws(CryptographyError) {
            key = try trust.key(of: header.signer, in: certificates, role: .storeReceipt, time: .unread)
        } catch {
            if trust.hasIssued(header.signer, in: certificates, role: .storeReceipt) { return form }
            let failure = SignedPayloadError(error)
            return failure.verdict == .forged || failure.code == .unavailable
                ? failure : SignedPayloadError(.untrustedChain, at: form.place, form.reason)
        }
        // Only an algorithm that is not known leaves it open whether the App Store signed the text.
        guard header.isES256, key.isP256 else { return form }
        do throws(SignedPayloadError) {
            try Self.verifySignature(of: parts, in: text, key: key)
            return form
        } catch {
            return error
        }
    }

    /// Throws `outsideValidity` if the date of signing, or `now` without a date, is outside the validity of the
    /// signer's chain.
    static func check(
        _ date: Timestamp?, _ claim: String, _ window: ClosedRange<Int64>, now: Timestamp
    ) throws(SignedPayloadError) {
        guard !window.contains((date ?? now).seconds) else { return }
        throw SignedPayloadError(
            .outsideValidity, at: claim, "the signer's chain was not valid at the time of signing",
            validFrom: date == nil && now.seconds < window.lowerBound ? Timestamp(seconds: window.lowerBound) : nil)
    }

    /// Prepares the single signature verification that a JWS with a cached header costs, so that a benchmark can
    /// measure it alone. Throws `SignedPayloadError`, `CryptographyError`.
    package func bareVerification(of text: String) throws -> BenchmarkVerification {
        let bytes = Array(text.utf8)
        let span = bytes.span
        let parts = try CompactJWS(span, maximumBytes: maximumBytes)
        let signer = try signer(of: parts, in: span)
        let raw = Base64Text.decode(span.extracting(parts.signature), .urlSafe) ?? []
        return try BenchmarkVerification(
            key: signer.key, signature: ES256Signature.der(raw: raw.span) ?? [],
            message: span.copy(parts.signed), digest: .sha256)
    }
}

/// A cache of verified signers, keyed by the bytes of the header segment. A cached header is not decoded again.
///
/// The cache is bounded and evicts the oldest entry. A header is inserted only after its signature was verified, so
/// clients cannot fill the cache with headers of their own.
private struct HeaderCache: Sendable {
    struct Entry: Sendable {
        let segment: [UInt8]
        let signer: VerifiedSigner
    }

    let signers: FIFOCache<Entry>

    func signer(of header: Range<Int>, in text: borrowing Span<UInt8>) -> VerifiedSigner? {
        for entry in signers.entries where text.holds(entry.segment, at: header) { return entry.signer }
        return nil
    }

    /// Caches a signer. The caller must have verified a signature made with it.
    func insert(_ signer: VerifiedSigner, for header: Range<Int>, in text: borrowing Span<UInt8>) {
        let segment = text.copy(header)
        signers.insert(Entry(segment: segment, signer: signer)) { $0.segment == segment }
    }
}
