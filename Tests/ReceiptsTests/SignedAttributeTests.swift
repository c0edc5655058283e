import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T4: In CMS, a signature can cover attributes instead of the content, and one of the attributes is the digest of
/// the content. If there are two digests, two parsers that use different ones trust different contents. So exactly one
/// contentType and one messageDigest are accepted, each with exactly one value, and both must match the content.
///
/// `Attribute ::= SEQUENCE { attrType OBJECT IDENTIFIER, attrValues SET OF AttributeValue }`, RFC 5652, sections 5.3,
/// 5.4 and 11.
@Suite("Signed attributes in an App Receipt")
struct SignedAttributeTests {
    struct Attributes: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Returns the attributes from the digest of the content and the digest of another content, which the signer
        /// did not intend.
        let make: @Sendable (_ digest: [UInt8], _ other: [UInt8]) -> [[UInt8]]

        init(_ name: String, _ make: @escaping @Sendable (_ digest: [UInt8], _ other: [UInt8]) -> [[UInt8]]) {
            (testDescription, self.make) = (name, make)
        }
    }

    private static func attribute(_ type: String, _ values: [UInt8]...) -> [UInt8] {
        DEREncoder.sequence(DEREncoder.objectIdentifier(type), DEREncoder.set(values))
    }

    private static let data = DEREncoder.objectIdentifier("1.2.840.113549.1.7.1")
    private static let contentType = attribute("1.2.840.113549.1.9.3", data)
    private static let otherType = attribute(
        "1.2.840.113549.1.9.3", DEREncoder.objectIdentifier("1.2.840.113549.1.7.2"))
    private static let signingTime = attribute(
        "1.2.840.113549.1.9.5", DEREncoder.time(Timestamp(seconds: 1_709_294_400)))

    private static func digests(_ values: [UInt8]...) -> [UInt8] {
        DEREncoder.sequence(
            DEREncoder.objectIdentifier("1.2.840.113549.1.9.4"), DEREncoder.set(values.map(DEREncoder.octetString)))
    }

    static let valid: [Attributes] = [
        Attributes("as CMS requires them") { digest, _ in [contentType, digests(digest)] },
        Attributes("with a signing time") { digest, _ in [contentType, signingTime, digests(digest)] },
        Attributes("with 30 attributes of unknown types") { digest, _ in
            [contentType, digests(digest)]
                + (1...30).map { attribute("1.2.3.\($0)", DEREncoder.octetString([UInt8](repeating: 7, count: 40))) }
        },
    ]

    static let invalid: [Attributes] = [
        Attributes("messageDigest in two attributes") { [contentType, digests($0), digests($1)] },
        Attributes("messageDigest in two attributes, the other first") { [contentType, digests($1), digests($0)] },
        Attributes("the same messageDigest in two attributes") { digest, _ in
            [contentType, digests(digest), digests(digest)]
        },
        Attributes("messageDigest with two values") { [contentType, digests($0, $1)] },
        Attributes("messageDigest without a value") { _, _ in [contentType, digests()] },
        Attributes("messageDigest of another content") { _, other in [contentType, digests(other)] },
        Attributes("truncated messageDigest") { digest, _ in [contentType, digests(Array(digest.prefix(4)))] },
        Attributes("no messageDigest") { _, _ in [contentType, signingTime] },
        Attributes("contentType that differs from eContentType") { digest, _ in [otherType, digests(digest)] },
        Attributes("contentType twice") { digest, _ in [contentType, otherType, digests(digest)] },
        Attributes("no contentType") { digest, _ in [digests(digest)] },
        Attributes("an empty set") { _, _ in [] },
        Attributes("an element that is not an attribute") { digest, _ in
            [contentType, digests(digest), DEREncoder.integer(1)]
        },
        Attributes("bytes after the values of an attribute") { digest, _ in
            [
                contentType,
                DEREncoder.sequence(
                    DEREncoder.objectIdentifier("1.2.840.113549.1.9.4"),
                    DEREncoder.set([DEREncoder.octetString(digest)]), DEREncoder.null),
            ]
        },
        Attributes("messageDigest in pieces") { digest, _ in
            [
                contentType,
                attribute("1.2.840.113549.1.9.4", DEREncoder.value(tag: 0x24, parts: [DEREncoder.octetString(digest)])),
            ]
        },
        Attributes("33 attributes") { digest, _ in
            [contentType, digests(digest)] + (1...31).map { attribute("1.2.3.\($0)", DEREncoder.null) }
        },
        Attributes("more than 16,384 bytes") { digest, _ in
            [
                contentType, digests(digest),
                attribute("1.2.3.4", DEREncoder.octetString([UInt8](repeating: 0, count: 16_384))),
            ]
        },
    ]

    private static func algorithm(_ identifier: String) -> [UInt8] {
        DEREncoder.sequence(DEREncoder.objectIdentifier(identifier), DEREncoder.null)
    }

    /// Returns a receipt with these attributes. Either they are signed as a SET OF, as CMS requires, or the content
    /// is signed as in App Receipts and the attributes are added afterwards.
    ///
    /// - Parameters:
    ///   - shape: the attributes; if it is `nil`, the field for them is absent.
    ///   - isSorted: whether the receipt contains the attributes in the order of DER; otherwise in the reverse.
    ///   - isSortedForSigning: the same for the bytes that are signed.
    ///   - tag: the tag of the bytes that are signed.
    private func receipt(
        _ shape: Attributes?, _ digest: DigestAlgorithm, isContentSigned: Bool, isSorted: Bool = true,
        isSortedForSigning: Bool = true, tag: UInt8 = 0x31
    ) throws -> [UInt8] {
        let signer = try MintedReceipts.pki.receiptSigner
        let content = MintedReceipts.content().payload()
        let other = MintedReceipts.content { $0.purchases[2].quantity = 99 }.payload()
        let sorted = shape?.make(SHA.digest(content, with: digest), SHA.digest(other, with: digest))
            .sorted { $0.lexicographicallyPrecedes($1) }
        let attributes = isSorted ? sorted : sorted.map { $0.reversed() }
        let covered = isSortedForSigning ? sorted : attributes
        let signed = isContentSigned || covered == nil ? content : DEREncoder.value(tag: tag, parts: covered ?? [])
        let digestName = Self.algorithm(digest == .sha1 ? "1.3.14.3.2.26" : "2.16.840.1.101.3.4.2.1")
        let info = DEREncoder.sequence(
            DEREncoder.integer(1), signer.leaf.issuerAndSerialNumber, digestName,
            attributes.map { DEREncoder.value(tag: 0xA0, parts: $0) } ?? [], Self.algorithm("1.2.840.113549.1.1.1"),
            DEREncoder.octetString(try signer.leaf.key.signature(over: signed, digest: digest)))
        let signedData = DEREncoder.sequence(
            DEREncoder.integer(1), DEREncoder.set([digestName]),
            DEREncoder.sequence(Self.data, DEREncoder.context(0, DEREncoder.octetString(content))),
            DEREncoder.value(tag: 0xA0, parts: signer.certificates), DEREncoder.set([info]))
        return DEREncoder.sequence(
            DEREncoder.objectIdentifier("1.2.840.113549.1.7.2"), DEREncoder.context(0, signedData))
    }

    // T4
    @Test("A receipt whose signature covers valid signed attributes is authentic", arguments: valid)
    func accepted(shape: Attributes) throws {
        for digest in [DigestAlgorithm.sha1, .sha256] {
            for isSorted in [true, false] {
                let bytes = try receipt(shape, digest, isContentSigned: false, isSorted: isSorted)
                for decoder in [try Decoders.apple, try Decoders.tolerant] {
                    #expect(decoder.refusal(of: bytes) == nil, "\(digest) \(isSorted)")
                }
            }
        }
    }

    // T4
    @Test("A receipt with ambiguous, missing or foreign signed attributes is rejected", arguments: invalid)
    func refused(shape: Attributes) throws {
        for digest in [DigestAlgorithm.sha1, .sha256] {
            for isContentSigned in [false, true] {
                let bytes = try receipt(shape, digest, isContentSigned: isContentSigned)
                for decoder in [try Decoders.apple, try Decoders.tolerant, try Decoders.withoutAuthorities] {
                    let refusal = try #require(decoder.refusal(of: bytes), "\(digest) \(isContentSigned)")
                    #expect(refusal.code == .badSignature && refusal.place == "SignerInfo.signedAttrs")
                    #expect(refusal.verdict == .forged)
                }
                // Like every receipt that is not authentic, it can be inspected and is marked.
                let inspection = try Decoders.tolerant.inspect(MintedReceipts.base64(bytes).span)
                #expect(!inspection.isVerified && inspection.failure?.code == .badSignature)
                #expect(inspection.contents?.bundleId == "com.example.app")
            }
        }
    }

    // T4
    @Test("Attributes added to a receipt whose content is signed are rejected", arguments: valid)
    func added(shape: Attributes) throws {
        let bytes = try receipt(shape, .sha256, isContentSigned: true)
        let refusal = try #require(try Decoders.apple.refusal(of: bytes))
        #expect(refusal.code == .badSignature && refusal.place == "SignerInfo.signature")
    }

    // T4
    @Test("A receipt whose signed attributes were removed is rejected")
    func removed() throws {
        let whole = try receipt(Self.valid[0], .sha256, isContentSigned: false)
        let bytes = try MintedReceipts.app()
        #expect(try Decoders.apple.refusal(of: bytes.dropLast(256) + whole.suffix(256))?.code == .badSignature)
    }

    // T4
    @Test("Attributes that are signed with the tag [0], or without sorting, are rejected")
    func otherEncodings() throws {
        let shape = Self.valid[1]
        for tag: UInt8 in [0xA0, 0x30] {
            let bytes = try receipt(shape, .sha256, isContentSigned: false, tag: tag)
            #expect(try Decoders.apple.refusal(of: bytes)?.place == "SignerInfo.signature")
        }
        let unsorted = try receipt(shape, .sha256, isContentSigned: false, isSorted: false, isSortedForSigning: false)
        #expect(try Decoders.apple.refusal(of: unsorted)?.place == "SignerInfo.signature")
    }

    // T4
    @Test("The same receipt without signed attributes equals the encoder's byte for byte and is authentic")
    func control() throws {
        let without = try receipt(nil, .sha256, isContentSigned: true)
        #expect(without == (try MintedReceipts.app()))
        #expect(try Decoders.apple.refusal(of: without) == nil)
    }
}
