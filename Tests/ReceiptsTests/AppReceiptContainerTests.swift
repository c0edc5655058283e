import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Container of an App Receipt")
struct AppReceiptContainerTests {
    private typealias Options = AppReceiptEncoder.Options

    private func refusal(_ bytes: [UInt8]) throws -> ReceiptDecodingError.Code? {
        try Decoders.apple.refusal(of: bytes)?.code
    }

    /// All encodings of a container that must be accepted.
    static let forms: [(name: String, change: @Sendable (inout AppReceiptEncoder.Options) -> Void)] = [
        ("DER, SHA-256", { _ in }),
        ("DER, SHA-1", { $0.digest = .sha1 }),
        ("digest named in both algorithms", { $0.namesDigestInSignatureAlgorithm = true }),
        ("indefinite lengths", { $0.indefiniteLength = true }),
        ("indefinite lengths, pieces of 100 bytes", { ($0.indefiniteLength, $0.chunkSize) = (true, 100) }),
        (
            "indefinite lengths, pieces of one byte, SHA-1",
            { options in
                (options.indefiniteLength, options.chunkSize, options.digest) = (true, 1, .sha1)
            }
        ),
        ("wrapped twice", { $0.innerOctetString = true }),
        ("wrapped twice, indefinite lengths", { ($0.innerOctetString, $0.indefiniteLength) = (true, true) }),
    ]

    // T6
    @Test("All valid encodings of a container are accepted", arguments: forms.indices)
    func form(index: Int) throws {
        let (name, change) = Self.forms[index]
        let bytes = try MintedReceipts.app(changing: change)
        #expect(try appReceipt(bytes) == appReceipt(MintedReceipts.app()), "\(name)")
        #expect(try Decoders.apple.decode(bytes: bytes).canonicalText.reveal() == MintedReceipts.base64(bytes))
        #expect(try Decoders.withoutAuthorities.refusal(of: bytes) == nil)
    }

    @Test("Attributes need not be sorted, and purchases keep the order of the receipt")
    func unsorted() throws {
        let receipt = try appReceipt(MintedReceipts.app { $0.sortsAttributes = false })
        #expect(receipt.purchases.map(\.transactionId) == MintedReceipts.content().purchases.map(\.transactionId))
    }

    static let types: [(type: String, environment: AppStoreEnvironment?, code: ReceiptDecodingError.Code?)] = [
        ("Production", .production, nil), ("ProductionVPP", .production, nil), ("ProductionSandbox", .sandbox, nil),
        ("ProductionVPPSandbox", .sandbox, nil), ("Xcode", .xcode, .xcodeReceipt),
        ("Staging", nil, .unknownStructure), ("production", nil, .unknownStructure), ("", nil, .unknownStructure),
    ]

    @Test(
        "The receipt type determines the environment; a receipt of type Xcode is never trusted, whoever signed it",
        arguments: types)
    func type(type: String, environment: AppStoreEnvironment?, code: ReceiptDecodingError.Code?) throws {
        let bytes = try MintedReceipts.app(content: MintedReceipts.content { $0.receiptType = type })
        #expect(try refusal(bytes) == code)
        if code == nil { #expect(try Decoders.apple.decode(bytes: bytes).environment == environment) }
        let inspection = try Decoders.tolerant.inspect(MintedReceipts.base64(bytes).span)
        #expect(inspection.isVerified == (code == nil))
        #expect(inspection.contents?.environment == environment)
        #expect(inspection.contents?.bundleId == "com.example.app")
    }

    @Test("A receipt signed by Xcode is read but not trusted, even if its certificate is a trusted root")
    func xcode() throws {
        let bytes = try XcodeReceipt.encode(MintedReceipts.content())
        let inspection = try Decoders.apple.inspect(MintedReceipts.base64(bytes).span)
        #expect(inspection.failure?.code == .xcodeReceipt)
        #expect(inspection.contents?.environment == .xcode)
        #expect(inspection.contents?.lookupKeys.isEmpty == true)

        let signer = try TestPKI.xcodeSigner()
        let root = try Certificate(der: signer.leaf.certificate.span)
        let trust = try TrustStore(anchors: MintedReceipts.anchors().adding(roots: [root], intermediates: [root]))
        let decoder = ReceiptDecoder(trust: trust, profile: .tolerant)
        #expect(decoder.refusal(of: bytes)?.code == .xcodeReceipt)
        #expect(decoder.refusal(of: try MintedReceipts.app(signer: signer))?.code == .notAReceiptSigner)
    }

    // T2
    @Test("A container must have exactly one SignerInfo", arguments: [0, 1, 2, 5])
    func signers(count: Int) throws {
        let bytes = try MintedReceipts.app { $0.signerCount = count }
        #expect(try refusal(bytes) == (count == 0 ? .unsigned : count == 1 ? nil : .severalSigners))
    }

    /// A set of certificates in the container, and the expected errors.
    struct Bag: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: ReceiptDecodingError.Code?
        /// The expected error if the trust store contains no intermediate certificates.
        let alone: ReceiptDecodingError.Code?
        let certificates: @Sendable (TestPKI) throws -> [[UInt8]]

        init(
            _ name: String, _ code: ReceiptDecodingError.Code?, alone: ReceiptDecodingError.Code?,
            _ certificates: @escaping @Sendable (TestPKI) throws -> [[UInt8]]
        ) {
            (testDescription, self.code, self.alone, self.certificates) = (name, code, alone, certificates)
        }
    }

    static let bags: [Bag] = [
        Bag("none", .signerCertificateMissing, alone: .signerCertificateMissing) { _ in [] },
        Bag("all except the signer's", .signerCertificateMissing, alone: .signerCertificateMissing) {
            [$0.developerRelations.certificate, $0.root.certificate]
        },
        Bag("only the signer's", nil, alone: .issuerUnknown) { [$0.receiptLeaf.certificate] },
        Bag("no intermediate", nil, alone: .issuerUnknown) { [$0.receiptLeaf.certificate, $0.root.certificate] },
        Bag("no root", nil, alone: nil) { [$0.receiptLeaf.certificate, $0.developerRelations.certificate] },
        Bag("backwards", nil, alone: nil) {
            [$0.root.certificate, $0.developerRelations.certificate, $0.receiptLeaf.certificate]
        },
        Bag("the signer's twice", nil, alone: nil) {
            [$0.receiptLeaf.certificate, $0.receiptLeaf.certificate, $0.developerRelations.certificate]
        },
        Bag("with unrelated certificates", nil, alone: nil) { pki in
            [try MintedReceipts.foreign.receiptLeaf.certificate, pki.receiptLeaf.certificate]
                + [pki.jwsLeaf.certificate, pki.developerRelations.certificate, pki.root.certificate]
        },
        Bag("a forged intermediate with the same name", nil, alone: .untrustedChain) { pki in
            let forged = try CertificateIdentity.selfSigned(
                pki.developerRelations.template, key: MintedReceipts.foreign.root.key)
            return [pki.receiptLeaf.certificate, forged.certificate]
        },
        Bag("an element that is not a certificate", .malformedCertificate, alone: .malformedCertificate) {
            [$0.receiptLeaf.certificate, DEREncoder.integer(5)]
        },
        Bag("an empty certificate", .malformedCertificate, alone: .malformedCertificate) {
            [$0.receiptLeaf.certificate, [0x30, 0]]
        },
        Bag("more than 16, the signer's last", .signerCertificateMissing, alone: .signerCertificateMissing) { pki in
            Array(repeating: pki.root.certificate, count: 16) + [pki.receiptLeaf.certificate]
        },
        Bag("a thousand after the signer's", nil, alone: nil) { pki in
            [pki.receiptLeaf.certificate, pki.developerRelations.certificate]
                + Array(repeating: pki.root.certificate, count: 1000)
        },
    ]

    // T2
    @Test(
        "The signer's certificate must be in the container; other certificates may be missing or added", arguments: bags
    )
    func bag(bag: Bag) throws {
        let certificates = try bag.certificates(MintedReceipts.pki)
        let bytes = try MintedReceipts.app { $0.certificates = certificates }
        #expect(try refusal(bytes) == bag.code)
        #expect(try Decoders.withoutAuthorities.refusal(of: bytes)?.code == bag.alone)
    }

    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: ReceiptDecodingError.Code
        let make: @Sendable (TestPKI) throws -> ReceiptSigner

        init(
            _ name: String, _ code: ReceiptDecodingError.Code,
            _ make: @escaping @Sendable (TestPKI) throws -> ReceiptSigner
        ) {
            (testDescription, self.code, self.make) = (name, code, make)
        }
    }

    static let forgeries: [Forgery] = [
        Forgery("Apple's names below a foreign root", .untrustedChain) { _ in try MintedReceipts.foreign.receiptSigner
        },
        Forgery("a developer's certificate", .notAReceiptSigner) { try $0.developerCertificate() },
        Forgery("an intermediate without the marker extension", .notAReceiptSigner) {
            try $0.signerBelowUnmarkedAuthority()
        },
        Forgery("an issuer that is not a CA", .untrustedChain) { try $0.signerBelowNonAuthority() },
        Forgery("an expired signer", .outsideValidity) { try $0.expiredSigner() },
        Forgery("an elliptic curve key", .unsupportedAlgorithm) { try $0.ecSigner() },
        Forgery("an RSA key of 1024 bits", .keyRefused) { try $0.issueReceiptSigner(key: try .rsa(bits: 1024)) },
        Forgery("the intermediate itself", .notAReceiptSigner) {
            ReceiptSigner(leaf: $0.developerRelations, issuers: [$0.root])
        },
        Forgery("the root itself", .notAReceiptSigner) { ReceiptSigner(leaf: $0.root, issuers: []) },
        Forgery("the signer of version 2 transactionReceipts", .notAReceiptSigner) { $0.purchaseSigner },
    ]

    // T3, T5
    @Test(
        "A receipt signed by anyone but Apple's receipt signer is rejected, even if everything else is valid",
        arguments: forgeries)
    func forgery(forgery: Forgery) throws {
        let bytes = try MintedReceipts.app(signer: forgery.make(MintedReceipts.pki))
        #expect(try refusal(bytes) == forgery.code)
        // The contents can still be inspected and are marked as not authentic.
        let inspection = try Decoders.tolerant.inspect(MintedReceipts.base64(bytes).span)
        #expect(!inspection.isVerified)
        #expect(inspection.contents?.bundleId == "com.example.app")
    }

    // T3
    @Test("A receipt that declares RSA but has a valid elliptic curve signature is rejected")
    func namesAnotherAlgorithm() throws {
        let bytes = try MintedReceipts.app(signer: MintedReceipts.pki.ecSigner()) { $0.claimsRSA = true }
        #expect(try refusal(bytes) == .unsupportedAlgorithm)
    }

    // T6
    @Test(
        "The certificate chain is verified at the creation date, so a receipt stays authentic after its signer expires"
    )
    func expired() throws {
        let bytes = try MintedReceipts.app(
            signer: MintedReceipts.pki.expiredSigner(),
            content: MintedReceipts.content { $0.creationDate = Timestamp(seconds: Validity.past.to.seconds) })
        #expect(try refusal(bytes) == nil)
    }

    // T2
    @Test("A receipt with replaced content or without its signature is rejected")
    func tampered() throws {
        let richer = MintedReceipts.content { $0.purchases[2].quantity = 99 }.payload()
        #expect(try refusal(MintedReceipts.app { $0.swappedPayload = richer }) == .badSignature)
        #expect(try refusal(MintedReceipts.app { $0.swappedPayload = [] }) == .malformed)
        #expect(try refusal(MintedReceipts.app { $0.stripsSignature = true }) == .badSignature)
        #expect(try refusal(MintedReceipts.app { $0.digest = .sha384 }) == .unsupportedAlgorithm)
        // A foreign signature replaces the genuine one, which is at the end of the receipt.
        let bytes = try MintedReceipts.app()
        let signature = try MintedReceipts.foreign.receiptLeaf.key.signature(
            over: MintedReceipts.content().payload(), digest: .sha256)
        #expect(try refusal(bytes.dropLast(signature.count) + signature) == .badSignature)
    }

    // T2
    @Test("A detached signature, without the content, is rejected")
    func detached() throws {
        let data = DEREncoder.objectIdentifier("1.2.840.113549.1.7.1")
        for content in [DEREncoder.sequence(data), DEREncoder.sequence(data, DEREncoder.context(0, []))] {
            let signedData = DEREncoder.sequence(DEREncoder.integer(1), DEREncoder.set([]), content, DEREncoder.set([]))
            let bytes = DEREncoder.sequence(
                DEREncoder.objectIdentifier("1.2.840.113549.1.7.2"), DEREncoder.context(0, signedData),
                [UInt8](repeating: 0, count: 100))
            #expect(try refusal(bytes) == .malformed)
        }
    }

    // T13
    @Test(
        "Bytes after the container are rejected by the apple profile and removed by the tolerant profile",
        arguments: [false, true])
    func trailing(indefinite: Bool) throws {
        let bytes = try MintedReceipts.app { $0.indefiniteLength = indefinite }
        for surplus in [[0], [0, 0], [1, 2, 3], Array(bytes.prefix(50))] as [[UInt8]] {
            let text = MintedReceipts.base64(bytes + surplus)
            #expect(try Decoders.apple.refusal(ofText: text)?.code == .trailingBytes)
            let inspection = try Decoders.tolerant.inspect(text.span)
            #expect(inspection.isVerified)
            #expect(inspection.repairs == [.trailingBytes])
            #expect(try Decoders.tolerant.decode(text.span).canonicalText.reveal() == MintedReceipts.base64(bytes))
        }
    }

    // T9
    @Test(
        "Unlimited nesting is rejected quickly",
        arguments: [20, 33, 64, 10_000, TestSize.pick(debug: 100_000, release: 1_000_000)])
    func depth(levels: Int) throws {
        let head = try MintedReceipts.app { $0.indefiniteLength = true }.prefix(17)
        for bytes in [
            [UInt8]([[UInt8]](repeating: [0x30, 0x80], count: levels).joined()),
            Array(head) + [UInt8]([[UInt8]](repeating: [0x24, 0x80], count: levels).joined()),
            Array(head) + [UInt8]([[UInt8]](repeating: [0x24, 0x80], count: levels).joined())
                + [UInt8](repeating: 0, count: 2 * levels),
        ] {
            let (outcome, elapsed) = try timed { try refusal(bytes) }
            #expect(outcome == .malformed)
            #expect(elapsed < .seconds(5))
        }
    }

    @Test("The content may consist of nested pieces up to four levels", arguments: 1...6)
    func pieces(levels: Int) throws {
        let whole = try MintedReceipts.app()
        let content = MintedReceipts.content().payload()
        let plain = DEREncoder.octetString(content)
        let range = try #require(whole.firstRange(of: plain))
        var nested = plain
        for _ in 0..<levels { nested = [0x24, 0x80] + nested + [0, 0] }
        // All surrounding lengths are indefinite, so none of them has to be adjusted.
        var bytes = try MintedReceipts.app { $0.indefiniteLength = true }
        let constructed = [0x24, 0x80] + plain + [0, 0]
        let inner = try #require(bytes.firstRange(of: constructed))
        bytes.replaceSubrange(inner, with: nested)
        #expect(range.lowerBound > 0)
        #expect(try refusal(bytes) == (levels <= 4 ? nil : .untrustedChain))
    }
}
