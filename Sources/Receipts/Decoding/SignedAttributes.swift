import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The signed attributes of a SignerInfo: in their place, and not over the content, the signature is made.
///
/// ```
/// signedAttrs [0] IMPLICIT SET SIZE (1..MAX) OF Attribute
/// Attribute ::= SEQUENCE { attrType OBJECT IDENTIFIER, attrValues SET OF AttributeValue }
/// ```
/// RFC 5652, sections 5.3, 5.4 and 11. Two attributes are mandatory and tie the signature to the content: contentType,
/// which equals eContentType, and messageDigest. All others, for example signingTime, are ignored. None of Apple's
/// receipts that were inspected has signed attributes.
///
/// If one of the two occurred twice, or had two values, two readers could trust different contents. So exactly one of
/// each with exactly one value is accepted. A content never reads as attributes, nor attributes as a content: the
/// elements of a receipt's content begin with an INTEGER.
struct SignedAttributes: Sendable {
    /// The attributes as a DER SET OF: tag 0x31 in place of [0], and sorted by their encodings. This is what the
    /// signature covers.
    let message: [UInt8]
    let contentDigest: [UInt8]

    /// 1.2.840.113549.1.9.3, without tag and length.
    private static let contentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
    /// 1.2.840.113549.1.9.4, without tag and length.
    private static let messageDigest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
    /// Maximum number of attributes. OpenSSL writes four.
    private static let maximumCount = 32
    /// In bytes, of all attributes.
    private static let maximumSize = 16_384

    /// Reads the attributes from the element [0]. The content type is checked here; the digest is checked by
    /// ``check(content:digest:)``. Throws `badSignature` if an attribute is malformed, if one of the mandatory two is
    /// missing or ambiguous, or if a limit is exceeded.
    init(_ element: BERElement, in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
        guard element.content.count <= Self.maximumSize else {
            throw Self.failure("more than \(Self.maximumSize) bytes")
        }
        var types: [BERElement] = []
        var digests: [BERElement] = []
        var encodings: [Range<Int>] = []
        do throws(BERError) {
            var attributes = element.inside
            while !attributes.isAtEnd, encodings.count <= Self.maximumCount {
                let attribute = try attributes.next(BERTag.sequence, in: bytes)
                var fields = attribute.inside
                let type = try fields.next(BERTag.objectIdentifier, in: bytes)
                let values = try fields.next(BERTag.set, in: bytes)
                try fields.finish()
                if type.holds(Self.contentType, in: bytes) { types.append(values) }
                if type.holds(Self.messageDigest, in: bytes) { digests.append(values) }
                encodings.append(attribute.whole)
            }
        } catch {
            throw Self.failure("\(error)")
        }
        guard encodings.count <= Self.maximumCount else { throw Self.failure("more than \(Self.maximumCount)") }
        let type = try Self.onlyValue(of: types, "contentType", BERTag.objectIdentifier, in: bytes)
        guard type.holds(SignedData.dataType, in: bytes) else {
            throw Self.failure("contentType differs from eContentType")
        }
        let digest = try Self.onlyValue(of: digests, "messageDigest", BERTag.octetString, in: bytes)
        contentDigest = bytes.copy(digest.content)
        message = Self.set(of: encodings, in: bytes)
    }

    /// Checks that the attributes belong to the content. Throws `badSignature` if messageDigest is not the content's
    /// digest; `unavailable` if OpenSSL on this system refuses the algorithm.
    func check(content: borrowing Span<UInt8>, digest algorithm: DigestAlgorithm) throws(ReceiptDecodingError) {
        guard let digest = algorithm.digest(of: content) else {
            throw ReceiptDecodingError(
                .unavailable, at: "SignerInfo.digestAlgorithm", "OpenSSL on this system refuses the digest")
        }
        guard digest == contentDigest else { throw Self.failure("messageDigest is not the digest of the content") }
    }

    private static func onlyValue(
        of attributes: [BERElement], _ name: String, _ tag: UInt8, in bytes: borrowing Span<UInt8>
    ) throws(ReceiptDecodingError) -> BERElement {
        guard let values = attributes.first else { throw failure("no \(name)") }
        guard attributes.count == 1 else { throw failure("more than one \(name)") }
        do throws(BERError) {
            var cursor = values.inside
            let value = try cursor.next(tag, in: bytes)
            try cursor.finish()
            return value
        } catch {
            throw failure("\(name) does not have exactly one value: \(error)")
        }
    }

    /// Returns the DER encoding of a SET OF (ITU-T X.690, 11.6): the elements in ascending order of their encodings.
    private static func set(of elements: [Range<Int>], in bytes: borrowing Span<UInt8>) -> [UInt8] {
        var encodings: [[UInt8]] = []
        for element in elements { encodings.append(bytes.copy(element)) }
        encodings.sort { $0.lexicographicallyPrecedes($1) }
        let count = encodings.reduce(0) { $0 + $1.count }
        var set: [UInt8] = [BERTag.set]
        switch count {
        case 0..<0x80: set.append(UInt8(count))
        case 0x80..<0x100: set += [0x81, UInt8(count)]
        default: set += [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
        }
        for encoding in encodings { set += encoding }
        return set
    }

    private static func failure(_ reason: String) -> ReceiptDecodingError {
        ReceiptDecodingError(.badSignature, at: "SignerInfo.signedAttrs", reason)
    }
}
