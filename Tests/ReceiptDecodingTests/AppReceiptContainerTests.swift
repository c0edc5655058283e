import Cryptography
import ReceiptDecoding
import Simulator
import StoreTypes
import TestSupport
import Testing

@Suite("The container of an App Receipt")
struct AppReceiptContainerTests {
    private typealias Options = AppReceiptEncoder.Options

    private func refusal(_ bytes: [UInt8]) throws -> ReceiptDecodingError.Code? {
        try Decoders.apple.refusal(of: bytes)?.code
    }

    static let forms: [(name: String, change: @Sendable (inout AppReceiptEncoder.Options) -> Void)] = [
        ("DER, SHA-256", { _ in }),
        ("DER, SHA-1", { $0.digest = .sha1 }),
        ("the digest named twice", { $0.namesDigestInSignatureAlgorithm = true }),
        ("indefinite lengths", { $0.indefiniteLength = true }),
        ("indefinite lengths, pieces of 100 bytes", { ($0.indefiniteLength, $0.chunkSize) = (true, 100) }),
        (
            "indefinite lengths, pieces of a byte, SHA-1",
            { options in
                (options.indefiniteLength, options.chunkSize, options.digest) = (true, 1, .sha1)
            }
        ),
        ("wrapped twice", { $0.innerOctetString = true }),
        ("wrapped twice, indefinite lengths", { ($0.innerOctetString, $0.indefiniteLength) = (true, true) }),
    ]

    // T6
    @Test("may be written in any of these ways", arguments: forms.indices)
    func form(index: Int) throws {
        let (name, change) = Self.forms[index]
        let bytes = try MintedReceipts.app(changing: change)
        #expect(try appReceipt(bytes) == appReceipt(MintedReceipts.app()), "\(name)")
        #expect(try Decoders.apple.decode(bytes: bytes).canonicalText.reveal() == MintedReceipts.base64(bytes))
        #expect(try Decoders.withoutAuthorities.refusal(of: bytes) == nil)
    }

    @Test("need not be sorted; the order of purchases is the blob's")
    func unsorted() throws {
        let receipt = try appReceipt(MintedReceipts.app { $0.sortsAttributes = false })
        #expect(receipt.purchases.map(\.transactionId) == MintedReceipts.content().purchases.map(\.transactionId))
    }

    static let types: [(type: String, environment: AppStoreEnvironment?, code: ReceiptDecodingError.Code?)] = [
        ("Production", .production, nil), ("ProductionVPP", .production, nil), ("ProductionSandbox", .sandbox, nil),
        ("ProductionVPPSandbox", .sandbox, nil), ("Xcode", .xcode, .xcodeReceipt), ("Staging", nil, .malformed),
        ("production", nil, .malformed), ("", nil, .malformed),
    ]

    @Test("is of the environment that its type says; Xcode's is never trusted, whoever signed", arguments: types)
    func type(type: String, environment: AppStoreEnvironment?, code: ReceiptDecodingError.Code?) throws {
        let bytes = try MintedReceipts.app(content: MintedReceipts.content { $0.receiptType = type })
        #expect(try refusal(bytes) == code)
        if code == nil { #expect(try Decoders.apple.decode(bytes: bytes).environment == environment) }
        let inspection = try Decoders.tolerant.inspect(MintedReceipts.base64(bytes).span)
        #expect(inspection.isVerified == (code == nil))
        #expect(inspection.contents?.environment == environment)
        #expect(inspection.contents?.bundleId == "com.example.app")
    }

    @Test("of Xcode's own make is read and not trusted, even where its certificate is a root")
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
    @Test("has exactly one SignerInfo", arguments: [0, 1, 2, 5])
    func signers(count: Int) throws {
        let bytes = try MintedReceipts.app { $0.signerCount = count }
        #expect(try refusal(bytes) == (count == 0 ? .unsigned : count == 1 ? nil : .severalSigners))
    }

    struct Bag: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: ReceiptDecodingError.Code?
        /// Where no authority is known.
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
        Bag("all but the signer's", .signerCertificateMissing, alone: .signerCertificateMissing) {
            [$0.developerRelations.certificate, $0.root.certificate]
        },
        Bag("the signer's alone", nil, alone: .issuerUnknown) { [$0.receiptLeaf.certificate] },
        Bag("no authority", nil, alone: .issuerUnknown) { [$0.receiptLeaf.certificate, $0.root.certificate] },
        Bag("no root", nil, alone: nil) { [$0.receiptLeaf.certificate, $0.developerRelations.certificate] },
        Bag("backwards", nil, alone: nil) {
            [$0.root.certificate, $0.developerRelations.certificate, $0.receiptLeaf.certificate]
        },
        Bag("the signer's twice", nil, alone: nil) {
            [$0.receiptLeaf.certificate, $0.receiptLeaf.certificate, $0.developerRelations.certificate]
        },
        Bag("strangers beside", nil, alone: nil) { pki in
            [try MintedReceipts.foreign.receiptLeaf.certificate, pki.receiptLeaf.certificate]
                + [pki.jwsLeaf.certificate, pki.developerRelations.certificate, pki.root.certificate]
        },
        Bag("a foreign authority of the same name", nil, alone: .untrustedChain) { pki in
            let forged = try CertificateIdentity.selfSigned(
                pki.developerRelations.template, key: MintedReceipts.foreign.root.key)
            return [pki.receiptLeaf.certificate, forged.certificate]
        },
        Bag("something that is no certificate", .malformedCertificate, alone: .malformedCertificate) {
            [$0.receiptLeaf.certificate, DEREncoder.integer(5)]
        },
        Bag("an empty certificate", .malformedCertificate, alone: .malformedCertificate) {
            [$0.receiptLeaf.certificate, [0x30, 0]]
        },
        Bag("too many, the signer's last", .signerCertificateMissing, alone: .signerCertificateMissing) { pki in
            Array(repeating: pki.root.certificate, count: 16) + [pki.receiptLeaf.certificate]
        },
        Bag("a thousand behind the signer's", nil, alone: nil) { pki in
            [pki.receiptLeaf.certificate, pki.developerRelations.certificate]
                + Array(repeating: pki.root.certificate, count: 1000)
        },
    ]

    // T2
    @Test("may carry these certificates", arguments: bags)
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
        Forgery("Apple's names, a foreign root", .untrustedChain) { _ in try MintedReceipts.foreign.receiptSigner },
        Forgery("a developer's certificate", .notAReceiptSigner) { try $0.developerCertificate() },
        Forgery("an unmarked authority", .notAReceiptSigner) { try $0.signerBelowUnmarkedAuthority() },
        Forgery("an issuer that is no authority", .untrustedChain) { try $0.signerBelowNonAuthority() },
        Forgery("a signer whose time was over", .outsideValidity) { try $0.expiredSigner() },
        Forgery("an elliptic key", .unsupportedAlgorithm) { try $0.ecSigner() },
        Forgery("an RSA key of 1024 bits", .keyRefused) { try $0.issueReceiptSigner(key: try .rsa(bits: 1024)) },
        Forgery("the authority itself", .notAReceiptSigner) {
            ReceiptSigner(leaf: $0.developerRelations, issuers: [$0.root])
        },
        Forgery("the root itself", .notAReceiptSigner) { ReceiptSigner(leaf: $0.root, issuers: []) },
        Forgery("the signer of transactionReceipts of version 2", .notAReceiptSigner) { $0.purchaseSigner },
    ]

    // T3, T5
    @Test("signed by anybody else is refused, though all else is as it should be", arguments: forgeries)
    func forgery(forgery: Forgery) throws {
        let bytes = try MintedReceipts.app(signer: forgery.make(MintedReceipts.pki))
        #expect(try refusal(bytes) == forgery.code)
        // What it says can still be looked at, and is marked as not authentic.
        let inspection = try Decoders.tolerant.inspect(MintedReceipts.base64(bytes).span)
        #expect(!inspection.isVerified)
        #expect(inspection.contents?.bundleId == "com.example.app")
    }

    // T3
    @Test("that names RSA and is signed with an elliptic key is refused, though the signature holds")
    func namesAnotherAlgorithm() throws {
        let bytes = try MintedReceipts.app(signer: MintedReceipts.pki.ecSigner()) { $0.claimsRSA = true }
        #expect(try refusal(bytes) == .unsupportedAlgorithm)
    }

    // T6
    @Test("is judged at its creation date: of an expired signer, then valid, it is authentic")
    func expired() throws {
        let bytes = try MintedReceipts.app(
            signer: MintedReceipts.pki.expiredSigner(),
            content: MintedReceipts.content { $0.creationDate = Timestamp(seconds: Validity.past.to.seconds) })
        #expect(try refusal(bytes) == nil)
    }

    // T2
    @Test("whose content was exchanged, or whose signature was taken out, is refused")
    func tampered() throws {
        let richer = MintedReceipts.content { $0.purchases[2].quantity = 99 }.payload()
        #expect(try refusal(MintedReceipts.app { $0.swappedPayload = richer }) == .badSignature)
        #expect(try refusal(MintedReceipts.app { $0.swappedPayload = [] }) == .malformed)
        #expect(try refusal(MintedReceipts.app { $0.stripsSignature = true }) == .badSignature)
        #expect(try refusal(MintedReceipts.app { $0.digest = .sha384 }) == .unsupportedAlgorithm)
        // Somebody else's signature in the place of the genuine one, which is what the receipt ends in.
        let bytes = try MintedReceipts.app()
        let signature = try MintedReceipts.foreign.receiptLeaf.key.signature(
            over: MintedReceipts.content().payload(), digest: .sha256)
        #expect(try refusal(bytes.dropLast(signature.count) + signature) == .badSignature)
    }

    // T2
    @Test("without its content, as detached signatures are, is refused")
    func detached() throws {
        let data = DEREncoder.objectIdentifier("1.2.840.113549.1.7.1")
        for content in [DEREncoder.sequence(data), DEREncoder.sequence(data, DEREncoder.context(0, []))] {
            let signedData = DEREncoder.sequence(
                DEREncoder.integer(1), DEREncoder.set([]), content, DEREncoder.set([]))
            let bytes = DEREncoder.sequence(
                DEREncoder.objectIdentifier("1.2.840.113549.1.7.2"), DEREncoder.context(0, signedData),
                [UInt8](repeating: 0, count: 100))
            #expect(try refusal(bytes) == .malformed)
        }
    }

    // T13
    @Test(
        "followed by something is refused by the apple profile and cut by the tolerant one", arguments: [false, true])
    func trailing(indefinite: Bool) throws {
        let bytes = try MintedReceipts.app { $0.indefiniteLength = indefinite }
        for surplus in [[0], [0, 0], [1, 2, 3], bytes] as [[UInt8]] {
            let text = MintedReceipts.base64(bytes + surplus)
            #expect(try Decoders.apple.refusal(ofText: text)?.code == .trailingBytes)
            let inspection = try Decoders.tolerant.inspect(text.span)
            #expect(inspection.isVerified)
            #expect(inspection.repairs == [.trailingBytes])
            #expect(try Decoders.tolerant.decode(text.span).canonicalText.reveal() == MintedReceipts.base64(bytes))
        }
    }

    // T9
    @Test("nested without end is refused at once", arguments: [20, 33, 64, 10_000, 1_000_000])
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

    @Test("holds its content in pieces of pieces, four deep and no deeper", arguments: 1...6)
    func pieces(levels: Int) throws {
        let whole = try MintedReceipts.app()
        let content = MintedReceipts.content().payload()
        let plain = DEREncoder.octetString(content)
        let place = try #require(whole.firstRange(of: plain))
        var nested = plain
        for _ in 0..<levels { nested = [0x24, 0x80] + nested + [0, 0] }
        // All lengths around are made indefinite, so that none has to be counted anew.
        var bytes = try MintedReceipts.app { $0.indefiniteLength = true }
        let constructed = [0x24, 0x80] + plain + [0, 0]
        let inner = try #require(bytes.firstRange(of: constructed))
        bytes.replaceSubrange(inner, with: nested)
        #expect(place.lowerBound > 0)
        #expect(try refusal(bytes) == (levels <= 4 ? nil : .malformed))
    }
}
