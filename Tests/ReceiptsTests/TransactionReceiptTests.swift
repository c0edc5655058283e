import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("A transactionReceipt")
struct TransactionReceiptTests {
    private func refusal(_ bytes: [UInt8]) throws -> ReceiptDecodingError.Code? {
        try Decoders.apple.refusal(of: bytes)?.code
    }

    @Test("A receipt of version 2, 3 or 4 is authentic and decodes to the signed values", arguments: [UInt8(2), 3, 4])
    func good(version: UInt8) throws {
        let bytes = try MintedReceipts.transaction(version: version)
        let receipt = try Decoders.apple.decode(bytes: bytes)
        #expect(receipt.environment == .production)
        #expect(receipt.bundleId.rawValue == "com.example.app")
        #expect(receipt.contents.hasAutoRenewable)
        let contents = try transactionReceipt(bytes)
        #expect(contents.purchaseInfo.map(\.key) == MintedReceipts.purchaseInfo().map(\.key))
        #expect(contents.purchaseInfo.map(\.value) == MintedReceipts.purchaseInfo().map(\.value))
        #expect(contents.pod == "43")
        #expect(contents.signingStatus == "0")
        #expect(!contents.environmentConflict)
        #expect(contents.purchaseDate == MintedReceipts.creation)
    }

    // T8
    @Test("A receipt of an unknown version is not judged", arguments: [UInt8(0), 1, 5, 0x30, 0xFF])
    func version(byte: UInt8) throws {
        let bytes = try MintedReceipts.transaction { $0.writtenVersion = byte }
        let failure = try #require(try Decoders.apple.refusal(of: bytes))
        #expect(failure.code == .unsupportedVersion)
        #expect(failure.verdict == .notJudged)
        #expect(failure.reason == "signature version \(byte) is not supported; expected 2 to 4")
    }

    @Test(
        "A receipt with the version byte of another version is rejected",
        arguments: [(UInt8(2), UInt8(3)), (3, 2), (3, 4), (4, 3), (4, 2)])
    func swappedVersion(signed: UInt8, written: UInt8) throws {
        let bytes = try MintedReceipts.transaction(version: signed) { $0.writtenVersion = written }
        #expect(try refusal(bytes) == .badSignature)
    }

    // T8
    @Test(
        "A receipt whose certificate does not have the declared length is rejected",
        arguments: [-1, 1, -1000, 5_000_000, 4_294_000_000])
    func certificateLength(difference: Int) throws {
        let length = try MintedReceipts.pki.receiptLeaf.certificate.count
        let bytes = try MintedReceipts.transaction {
            $0.writtenCertificateLength = UInt32(clamping: length + difference)
        }
        #expect(try refusal(bytes) == .badSignature)
    }

    @Test("A receipt whose certificate is malformed or has trailing bytes is rejected")
    func certificateBytes() throws {
        let pki = try MintedReceipts.pki
        for (certificate, code) in [
            (pki.receiptLeaf.certificate + [0], .malformedCertificate), ([], .badSignature),
            ([0x30], .malformedCertificate), ([UInt8](repeating: 0, count: 100), .malformedCertificate),
            ([UInt8](repeating: 0x30, count: 16_385), .malformedCertificate),
        ] as [([UInt8], ReceiptDecodingError.Code)] {
            let leaf = CertificateIdentity(
                template: pki.receiptLeaf.template, issuerName: pki.receiptLeaf.issuerName, key: pki.receiptLeaf.key,
                certificate: certificate)
            let bytes = try MintedReceipts.transaction(signer: ReceiptSigner(leaf: leaf, issuers: []))
            #expect(try refusal(bytes) == code, "\(certificate.count) bytes")
        }
    }

    // T8
    @Test("A receipt whose signed list was replaced is rejected")
    func swapped() throws {
        var entries = MintedReceipts.purchaseInfo()
        entries[4].value = "com.example.app.yearly"
        for list in [
            TransactionReceiptEncoder.list(entries),
            TransactionReceiptEncoder.list(MintedReceipts.purchaseInfo(), oneLine: true),
            TransactionReceiptEncoder.list(MintedReceipts.purchaseInfo()) + [0x0A],
        ] {
            let bytes = try MintedReceipts.transaction { $0.swappedPurchaseInfo = list }
            #expect(try refusal(bytes) == .badSignature)
        }
    }

    static let strangers: [(name: String, code: ReceiptDecodingError.Code)] = [
        ("own key, genuine certificate", .badSignature), ("own key, forged certificate", .issuerUnknown),
        ("foreign tree", .issuerUnknown), ("developer", .notAReceiptSigner), ("other role", .badSignature),
        ("self-signed", .untrustedChain), ("elliptic", .badSignature),
    ]

    // T8
    @Test("A receipt signed by anyone but Apple is rejected", arguments: strangers)
    func stranger(name: String, code: ReceiptDecodingError.Code) throws {
        let pki = try MintedReceipts.pki
        let own = try MintedReceipts.foreign.receiptLeaf.key
        let leaf = pki.receiptLeaf
        let signer: ReceiptSigner
        switch name {
        case "own key, genuine certificate":
            let identity = CertificateIdentity(
                template: leaf.template, issuerName: leaf.issuerName, key: own, certificate: leaf.certificate)
            signer = ReceiptSigner(leaf: identity, issuers: [])
        case "own key, forged certificate":
            let forger = CertificateIdentity(
                template: pki.developerRelations.template, issuerName: pki.root.template.subject, key: own,
                certificate: [])
            signer = ReceiptSigner(leaf: try forger.issue(leaf.template, key: own), issuers: [])
        case "foreign tree": signer = try MintedReceipts.foreign.receiptSigner
        case "developer": signer = try pki.developerCertificate()
        case "other role": signer = pki.purchaseSigner
        case "self-signed":
            signer = ReceiptSigner(leaf: try .selfSigned(leaf.template, key: own), issuers: [])
        default: signer = try pki.ecSigner()
        }
        for version: UInt8 in [3, 4] {
            #expect(try refusal(MintedReceipts.transaction(version: version, signer: signer)) == code, "\(version)")
        }
    }

    static let damages: [(name: String, code: ReceiptDecodingError.Code)] = [
        ("a bit of the signature", .badSignature), ("a bit of purchase-info", .badSignature),
        ("a bit of the certificate's key", .untrustedChain), ("the version byte 3", .badSignature),
        ("SHA-1 instead of SHA-256", .badSignature),
        ("a certificate that is cut", .badSignature),
    ]

    @Test("A damaged or forged receipt of version 4 is rejected", arguments: damages)
    func damage(name: String, code: ReceiptDecodingError.Code) throws {
        let list = TransactionReceiptEncoder.list(MintedReceipts.purchaseInfo())
        let leaf = try MintedReceipts.pki.receiptLeaf
        var (digest, version) = (DigestAlgorithm.sha256, UInt8(4))
        switch name {
        case "SHA-1 instead of SHA-256": digest = .sha1
        case "the version byte 3": version = 3
        default: break
        }
        var certificate = leaf.certificate
        if name == "a bit of the certificate's key" { certificate[certificate.count / 2] ^= 1 }
        var signature = try leaf.key.signature(over: [4] + list, digest: digest)
        if name == "a bit of the signature" { signature[100] ^= 1 }
        let length = withUnsafeBytes(of: UInt32(certificate.count).bigEndian) { Array($0) }
        var blob = [version] + signature + length + certificate
        if name == "a certificate that is cut" { blob.removeLast(40) }
        var info = list
        if name == "a bit of purchase-info", let product = list.firstRange(of: Array("monthly".utf8)) {
            info[product.lowerBound] ^= 1
        }
        let bytes = Array(MintedReceipts.plainList(Base64.encode(blob), Base64.encode(info)).utf8)
        #expect(try refusal(bytes) == code)
    }

    @Test("Without purchase-date-ms, as in receipts of 2011, the text purchase-date is read")
    func textDates() throws {
        let entries: [MintedReceipts.Entry] = [
            .init("quantity", "1"), .init("purchase-date", "2011-10-12 20:05:50 Etc/GMT"),
            .init("expires-date-formatted", "2011-10-12 20:10:50 Etc/GMT"), .init("expires-date", "1318450250000"),
            .init("product-id", "com.example.app.monthly"), .init("transaction-id", "1000000009957602"),
            .init("original-purchase-date", "2011-10-12 20:05:52 Etc/GMT"),
            .init("original-transaction-id", "1000000009957602"), .init("bid", "com.example.app"), .init("bvrs", "1"),
        ]
        let receipt = try transactionReceipt(MintedReceipts.transaction(version: 2, purchaseInfo: entries))
        #expect(receipt.purchaseDate == Timestamp(seconds: 1_318_449_950))
        #expect(receipt.originalPurchaseDate == Timestamp(seconds: 1_318_449_952))
        #expect(receipt.expiresDate == Timestamp(seconds: 1_318_450_250))
        let textOnly = entries.filter { $0.key != "expires-date" }
        let other = try transactionReceipt(MintedReceipts.transaction(version: 2, purchaseInfo: textOnly))
        #expect(other.expiresDate == Timestamp(seconds: 1_318_450_250))
        #expect(other.isAutoRenewable)
        #expect(other.value(of: "purchase-date-ms") == "1318449950000")
    }

    @Test("A receipt whose intermediate certificate is missing is not judged", arguments: [UInt8(2), 3, 4])
    func issuerUnknown(version: UInt8) throws {
        let bytes = try MintedReceipts.transaction(version: version)
        let failure = try #require(try Decoders.withoutAuthorities.refusal(of: bytes))
        #expect(failure.code == .issuerUnknown)
        #expect(failure.verdict == .notJudged)
    }

    /// A transaction id and an unsigned line, and the expected environment.
    struct Environments: Sendable {
        let id: String
        let line: String?
        let environment: AppStoreEnvironment
        let conflict: Bool

        init(_ id: String, _ line: String?, _ environment: AppStoreEnvironment, conflict: Bool) {
            (self.id, self.line, self.environment, self.conflict) = (id, line, environment, conflict)
        }
    }

    static let environments: [Environments] = [
        Environments("700000000000123", nil, .production, conflict: false),
        Environments("1000000046178817", "Sandbox", .sandbox, conflict: false),
        Environments("2000000046178817", "Sandbox", .sandbox, conflict: false),
        // The unsigned line was removed, changed or added.
        Environments("1000000046178817", nil, .sandbox, conflict: true),
        Environments("1000000046178817", "Production", .sandbox, conflict: true),
        Environments("700000000000123", "Sandbox", .sandbox, conflict: true),
        // Genuine production ids: they begin like sandbox ids but have 14 digits.
        Environments("20000053112933", nil, .production, conflict: false),
        Environments("10000005311293", nil, .production, conflict: false),
        Environments("100000053112933", nil, .production, conflict: false),
        Environments("1000010046178817", nil, .production, conflict: false),
        Environments("10000000461788170", nil, .production, conflict: false),
        Environments("700000000000123", "sandbox", .production, conflict: false),
        Environments("700000000000123", "", .production, conflict: false),
    ]

    @Test(
        "The transaction id determines the environment unless the unsigned line says Sandbox", arguments: environments)
    func environment(row: Environments) throws {
        let bytes = try MintedReceipts.transaction(purchaseInfo: MintedReceipts.purchaseInfo(transactionId: row.id)) {
            $0.environmentLine = row.line
        }
        #expect(try Decoders.apple.decode(bytes: bytes).environment == row.environment)
        #expect(try transactionReceipt(bytes).environmentConflict == row.conflict)
        #expect(try Decoders.apple.claims(of: MintedReceipts.base64(bytes).span).environment == row.environment)
    }

    /// Purchase dates relative to the validity of the expired signer's certificate, and the expected errors.
    static let purchases: [(seconds: Int64, code: ReceiptDecodingError.Code?)] = [
        (Validity.past.to.seconds, nil), (Validity.past.to.seconds + 1, .outsideValidity),
        (MintedReceipts.creation.seconds, .outsideValidity), (Validity.past.from.seconds, nil),
        // Receipts were signed again when they were restored, so a purchase may be older than the signer's
        // certificate.
        (Validity.past.from.seconds - 1, nil), (1, nil), (-1, nil),
    ]

    @Test(
        "A purchase after the signer's certificate expired is rejected, and one before it was issued is accepted",
        arguments: purchases)
    func time(seconds: Int64, code: ReceiptDecodingError.Code?) throws {
        for version: UInt8 in [3, 4] {
            let bytes = try MintedReceipts.transaction(
                version: version, signer: MintedReceipts.pki.expiredSigner(),
                purchaseInfo: MintedReceipts.purchaseInfo(purchased: Timestamp(seconds: seconds)))
            #expect(try refusal(bytes) == code, "\(version)")
        }
    }

    static let dates: [(text: String?, code: ReceiptDecodingError.Code)] = [
        (nil, .missingAttribute), ("", .missingAttribute), ("yesterday", .missingAttribute),
        ("1709294400000.5", .missingAttribute), (" 1709294400000", .missingAttribute),
        ("99999999999999999999", .missingAttribute), ("9223372036854775807", .outsideValidity),
    ]

    @Test("A receipt without a readable purchase date is rejected", arguments: dates)
    func date(text: String?, code: ReceiptDecodingError.Code) throws {
        var entries = MintedReceipts.purchaseInfo().filter { $0.key != "purchase-date-ms" }
        if let text { entries.append(.init("purchase-date-ms", text)) }
        #expect(try refusal(MintedReceipts.transaction(purchaseInfo: entries)) == code)
    }

    @Test("A receipt without a valid bundle id is rejected", arguments: [nil, "", "a b", "a\nb"])
    func bundle(text: String?) throws {
        var entries = MintedReceipts.purchaseInfo().filter { $0.key != "bid" }
        if let text { entries.append(.init("bid", text)) }
        #expect(try refusal(MintedReceipts.transaction(purchaseInfo: entries)) == .missingAttribute)
    }

    /// Variants of the outer list, and the expected errors. INFO and SIGNATURE are replaced by genuine values.
    static let outers: [(name: String, list: String, code: ReceiptDecodingError.Code?)] = [
        ("in another order, on one line", "{\"purchase-info\" = \"INFO\"; \"signature\" = \"SIGNATURE\"}", nil),
        ("with additional lines", "{a = b; \"signature\" = \"SIGNATURE\"; c = d; \"purchase-info\" = \"INFO\";}", nil),
        ("without a signature", "{\"purchase-info\" = \"INFO\";}", .unsigned),
        ("with an empty signature", "{\"signature\" = \"\"; \"purchase-info\" = \"INFO\";}", .unsigned),
        (
            "with a text instead of a signature", "{\"signature\" = \"dummysig\"; \"purchase-info\" = \"INFO\";}",
            .badSignature
        ),
        (
            "with a signature that is not base64", "{\"signature\" = \"dummy-sig\"; \"purchase-info\" = \"INFO\";}",
            .badSignature
        ),
        ("with only a version byte", "{\"signature\" = \"Aw==\"; \"purchase-info\" = \"INFO\";}", .badSignature),
        (
            "with two signatures",
            "{\"signature\" = \"SIGNATURE\"; \"signature\" = \"Aw==\"; \"purchase-info\" = \"INFO\";}", .malformed
        ),
        (
            "with two signed lists",
            "{\"signature\" = \"SIGNATURE\"; \"purchase-info\" = \"INFO\"; \"purchase-info\" = \"e30=\";}", .malformed
        ),
        ("without its signed list", "{\"signature\" = \"SIGNATURE\";}", .untrustedChain),
        ("with an empty signed list", "{\"signature\" = \"SIGNATURE\"; \"purchase-info\" = \"\";}", .truncated),
        (
            "with a signed list that is not base64", "{\"signature\" = \"SIGNATURE\"; \"purchase-info\" = \"INFO=\";}",
            .notBase64
        ),
        (
            "with line breaks in its values", "{\"signature\" = \"\nSIGNATURE\"; \"purchase-info\" = \"INFO\";}",
            .badSignature
        ),
    ]

    @Test("The outer list is read by its keys, and a receipt without one of them is rejected", arguments: outers)
    func outer(name: String, list: String, code: ReceiptDecodingError.Code?) throws {
        let bytes = try MintedReceipts.transaction(
            signing: TransactionReceiptEncoder.list(MintedReceipts.purchaseInfo())
        ) { list.replacing("SIGNATURE", with: $0).replacing("INFO", with: $1) }
        #expect(try refusal(bytes) == code)
    }
}
