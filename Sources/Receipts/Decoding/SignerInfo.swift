import ReceiptBridgeCryptography

/// The signer's identity, the algorithms, and the signature.
///
/// ```
/// SignerInfo ::= SEQUENCE { version INTEGER, sid IssuerAndSerialNumber, digestAlgorithm AlgorithmIdentifier,
///                           signedAttrs [0] OPTIONAL, signatureAlgorithm AlgorithmIdentifier,
///                           signature OCTET STRING, unsignedAttrs [1] OPTIONAL }
/// ```
/// RFC 5652, section 5.3. Apple's receipts have exactly one SignerInfo and no signedAttrs, so the signature covers
/// the content directly. With signedAttrs it covers those, and they contain the digest of the content.
struct SignerInfo: Sendable {
    /// The range of the issuer's name, with its tag and length.
    let issuer: Range<Int>
    /// The range of the serial number, without its tag and length.
    let serialNumber: Range<Int>
    let digest: DigestAlgorithm
    let signature: Range<Int>
    /// The signed attributes; `nil` if the signature covers the content directly.
    let signedAttributes: SignedAttributes?

    /// 1.3.14.3.2.26
    private static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
    /// 2.16.840.1.101.3.4.2.1
    private static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    /// 1.2.840.113549.1.1.1: the digest is only named by digestAlgorithm.
    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    /// 1.2.840.113549.1.1.5
    private static let sha1WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05]
    /// 1.2.840.113549.1.1.11
    private static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]

    /// Reads the SET of signers. Throws an error unless there is exactly one signer, with an RSA signature over a SHA-1
    /// or SHA-256 digest.
    init(only fields: inout BERCursor, in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
        let first: BERElement?
        let hasMore: Bool
        do throws(BERError) {
            var signers = try fields.next(BERTag.set, in: bytes).inside
            first = signers.isAtEnd ? nil : try signers.next(BERTag.sequence, in: bytes)
            hasMore = !signers.isAtEnd
        } catch {
            throw ReceiptDecodingError(error, at: "SignedData.signerInfos")
        }
        guard let first else { throw ReceiptDecodingError(.unsigned, at: "SignedData.signerInfos", "no signer") }
        guard !hasMore else {
            throw ReceiptDecodingError(.severalSigners, at: "SignedData.signerInfos", "more than one signer")
        }
        try self.init(first, in: bytes)
    }

    private init(_ element: BERElement, in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
        let digestName: BERElement
        let signatureName: BERElement
        let attributes: BERElement?
        do throws(BERError) {
            var fields = element.inside
            _ = try fields.next(BERTag.integer, in: bytes)
            var identifier = try fields.next(BERTag.sequence, in: bytes).inside
            issuer = try identifier.next(BERTag.sequence, in: bytes).whole
            serialNumber = try identifier.next(BERTag.integer, in: bytes).content
            digestName = try Self.algorithmName(&fields, in: bytes)
            attributes = try fields.nextIfPresent(BERTag.context(0), in: bytes)
            signatureName = try Self.algorithmName(&fields, in: bytes)
            signature = try fields.next(BERTag.octetString, in: bytes).content
        } catch {
            throw ReceiptDecodingError(error, at: "SignerInfo")
        }
        if let attributes {
            signedAttributes = try SignedAttributes(attributes, in: bytes)
        } else {
            signedAttributes = nil
        }
        let sha1 = digestName.holds(Self.sha1, in: bytes)
        guard sha1 || digestName.holds(Self.sha256, in: bytes) else {
            throw ReceiptDecodingError(
                .unsupportedAlgorithm, at: "SignerInfo.digestAlgorithm", "the digest is neither SHA-1 nor SHA-256")
        }
        digest = sha1 ? .sha1 : .sha256
        guard
            signatureName.holds(Self.rsaEncryption, in: bytes)
                || signatureName.holds(sha1 ? Self.sha1WithRSA : Self.sha256WithRSA, in: bytes)
        else {
            throw ReceiptDecodingError(
                .unsupportedAlgorithm, at: "SignerInfo.signatureAlgorithm",
                "not RSA with the digest algorithm of the SignerInfo")
        }
    }

    /// Returns the object identifier of an AlgorithmIdentifier; its parameters are ignored.
    private static func algorithmName(
        _ fields: inout BERCursor, in bytes: borrowing Span<UInt8>
    ) throws(BERError) -> BERElement {
        var algorithm = try fields.next(BERTag.sequence, in: bytes).inside
        return try algorithm.next(BERTag.objectIdentifier, in: bytes)
    }
}
