import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The PKCS#7 container of an App Receipt, sliced into its parts. Only what is needed to verify the signature is
/// decoded.
///
/// ```
/// ContentInfo      ::= SEQUENCE { contentType 1.2.840.113549.1.7.2, content [0] EXPLICIT SignedData }
/// SignedData       ::= SEQUENCE { version INTEGER, digestAlgorithms SET, encapContentInfo EncapsulatedContentInfo,
///                                 certificates [0] IMPLICIT SET OPTIONAL, crls [1] OPTIONAL, signerInfos SET }
/// EncapsulatedContentInfo ::= SEQUENCE { eContentType 1.2.840.113549.1.7.1, eContent [0] EXPLICIT OCTET STRING }
/// ```
/// RFC 5652, section 5.1. Apple writes DER; Xcode writes indefinite lengths and a constructed OCTET STRING.
struct SignedData: Sendable {
    /// The signed bytes: the content of eContent.
    let content: SignedContent
    /// The certificates and the signature. If they cannot be read, the content is still available for inspection.
    let signature: Result<Signature, ReceiptDecodingError>
    /// The number of bytes of the container. Bytes after it are not part of the receipt.
    let consumed: Int

    /// 1.2.840.113549.1.7.2, signedData, without tag and length.
    static let signedDataType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    /// 1.2.840.113549.1.7.1, data, without tag and length.
    static let dataType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    /// Genuine receipts contain one or three certificates.
    private static let maximumCertificates = 16

    /// Slices the container. Throws an error if the structure around the content is broken. Errors in the certificates
    /// or the signature are stored in `signature` instead.
    init(ber bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
        let contentInfo = try Self.container(in: bytes)
        var fields: BERCursor
        do throws(BERError) {
            consumed = contentInfo.end
            var inner = contentInfo.inside
            let type = try inner.next(BERTag.objectIdentifier, in: bytes)
            guard type.holds(Self.signedDataType, in: bytes) else { throw BERError(.unexpectedTag, at: type.start) }
            var explicit = try inner.next(BERTag.context(0), in: bytes).inside
            fields = try explicit.next(BERTag.sequence, in: bytes).inside
            _ = try fields.next(BERTag.integer, in: bytes)
            _ = try fields.next(BERTag.set, in: bytes)
            content = try Self.content(of: fields.next(BERTag.sequence, in: bytes), in: bytes)
        } catch {
            throw ReceiptDecodingError(error, at: "SignedData")
        }
        do throws(ReceiptDecodingError) {
            signature = .success(try Signature(&fields, in: bytes))
        } catch {
            signature = .failure(error)
        }
    }

    /// Returns the outermost element, which must not extend past the last byte.
    private static func container(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> BERElement {
        do throws(BERError) {
            var outer = BERCursor(0..<bytes.count)
            return try outer.next(BERTag.sequence, in: bytes)
        } catch {
            guard error.code == .truncated else { throw ReceiptDecodingError(error, at: "SignedData") }
            throw ReceiptDecodingError(
                .truncated, at: "SignedData", "the data ends at byte \(bytes.count), before the end of the container")
        }
    }

    static func content(
        of encapsulated: BERElement, in bytes: borrowing Span<UInt8>
    ) throws(BERError) -> SignedContent {
        var fields = encapsulated.inside
        let type = try fields.next(BERTag.objectIdentifier, in: bytes)
        guard type.holds(dataType, in: bytes) else { throw BERError(.unexpectedTag, at: type.start) }
        var explicit = try fields.next(BERTag.context(0), in: bytes).inside
        let element = try explicit.next(in: bytes)
        if element.tag == BERTag.octetString { return .slice(element.content) }
        var octets: [UInt8] = []
        try append(element, to: &octets, in: bytes, depth: 0)
        return .joined(octets)
    }

    /// Appends the bytes of an OCTET STRING, or of the pieces of a constructed one.
    private static func append(
        _ element: BERElement, to octets: inout [UInt8], in bytes: borrowing Span<UInt8>, depth: Int
    ) throws(BERError) {
        switch element.tag {
        case BERTag.octetString:
            bytes.withUnsafeBufferPointer { octets.append(contentsOf: $0[element.content]) }
        case BERTag.constructedOctetString where depth < 4:
            var pieces = element.inside
            while !pieces.isAtEnd {
                try append(pieces.next(in: bytes), to: &octets, in: bytes, depth: depth + 1)
            }
        default:
            throw BERError(.unexpectedTag, at: element.start)
        }
    }
}

/// The bytes that a container signs. Apple writes them in one piece, which is not copied.
enum SignedContent: Sendable {
    case slice(Range<Int>)
    /// The pieces of a constructed OCTET STRING, concatenated.
    case joined([UInt8])

    func location(in container: [UInt8]) -> (bytes: [UInt8], range: Range<Int>) {
        switch self {
        case .slice(let range): (container, range)
        case .joined(let bytes): (bytes, 0..<bytes.count)
        }
    }
}

extension SignedData {
    /// The certificates in the container, and its only SignerInfo.
    struct Signature: Sendable {
        let certificates: [CertificateSummary]
        let signer: SignerInfo

        fileprivate init(_ fields: inout BERCursor, in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
            do throws(BERError) {
                var certificates: [CertificateSummary] = []
                if let bag = try fields.nextIfPresent(BERTag.context(0), in: bytes) {
                    var cursor = bag.inside
                    while !cursor.isAtEnd, certificates.count < SignedData.maximumCertificates {
                        certificates.append(try CertificateSummary(cursor.next(in: bytes), in: bytes))
                    }
                }
                self.certificates = certificates
                _ = try fields.nextIfPresent(BERTag.context(1), in: bytes)
            } catch {
                throw ReceiptDecodingError(.malformedCertificate, at: "SignedData.certificates", "\(error)")
            }
            signer = try SignerInfo(only: &fields, in: bytes)
        }

        /// Returns the certificate that SignerInfo names; `nil` if it is not in the container.
        func signerCertificate(in bytes: borrowing Span<UInt8>) -> CertificateSummary? {
            for certificate in certificates
            where bytes.equal(certificate.serialNumber, signer.serialNumber)
                && bytes.equal(certificate.issuer, signer.issuer)
            {
                return certificate
            }
            return nil
        }

        /// Returns the certificates whose subject is the issuer of the signer's certificate.
        func authorities(over leaf: CertificateSummary, in bytes: borrowing Span<UInt8>) -> [Range<Int>] {
            var found: [Range<Int>] = []
            for certificate in certificates
            where certificate.whole != leaf.whole && bytes.equal(certificate.subject, leaf.issuer) {
                found.append(certificate.whole)
            }
            return found
        }
    }
}
