import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("App Receipt encoder")
struct AppReceiptEncoderTests {
    private func content() -> AppReceiptContent {
        AppReceiptContent(
            environment: .production, bundleId: "com.example.app", creationDate: SharedSimulator.noon,
            purchases: [
                AppReceiptPurchase(
                    productId: "com.example.app.unlock", transactionId: "500000000000001",
                    purchaseDate: SharedSimulator.noon,
                    productType: 0)
            ])
    }

    /// Runs `openssl cms -verify` with one trusted root, at the time of signing.
    private func verify(_ receipt: [UInt8], root: [UInt8]) throws -> (status: Int32, output: [UInt8], errors: String) {
        let scratch = try TemporaryFolder()
        try scratch.write("receipt.der", receipt)
        let file = try scratch.writeCertificates("root.pem", [root])
        return try scratch.openssl(
            "cms", "-verify", "-binary", "-inform", "DER", "-in", "receipt.der", "-purpose", "any", "-CAfile", file,
            "-no-CApath", "-x509_strict", "-attime", String(SharedSimulator.noon.seconds))
    }

    @Test(
        "An App Receipt verifies with openssl, which returns its payload", arguments: [DigestAlgorithm.sha1, .sha256])
    func verifies(digest: DigestAlgorithm) throws {
        let pki = try SharedSimulator.pki
        var encoder = AppReceiptEncoder(signer: pki.receiptSigner)
        encoder.options.digest = digest
        let verdict = try verify(try encoder.encode(content()), root: pki.root.certificate)
        #expect(verdict.status == 0, "\(verdict.errors)")
        #expect(verdict.output == content().payload())
    }

    @Test("An App Receipt in BER with its content in chunks verifies with openssl", arguments: [nil, 100])
    func indefinite(chunk: Int?) throws {
        let pki = try SharedSimulator.pki
        var encoder = AppReceiptEncoder(signer: pki.receiptSigner)
        encoder.options.indefiniteLength = true
        encoder.options.chunkSize = chunk
        let receipt = try encoder.encode(content())
        #expect(Array(receipt.prefix(2)) == [0x30, 0x80])
        let verdict = try verify(receipt, root: pki.root.certificate)
        #expect(verdict.status == 0, "\(verdict.errors)")
        #expect(verdict.output == content().payload())
    }

    @Test("An App Receipt does not verify if another payload was signed or the signature is empty")
    func broken() throws {
        let pki = try SharedSimulator.pki
        var swapped = AppReceiptEncoder(signer: pki.receiptSigner)
        swapped.options.swappedPayload = [0x31, 0x00]
        #expect(try verify(try swapped.encode(content()), root: pki.root.certificate).status != 0)
        var stripped = AppReceiptEncoder(signer: pki.receiptSigner)
        stripped.options.stripsSignature = true
        #expect(try verify(try stripped.encode(content()), root: pki.root.certificate).status != 0)
        var unsigned = AppReceiptEncoder(signer: pki.receiptSigner)
        unsigned.options.signerCount = 0
        #expect(try verify(try unsigned.encode(content()), root: pki.root.certificate).status != 0)
    }

    @Test(
        "An App Receipt does not verify below another root, by an expired signer, or below an issuer that is not a CA"
    )
    func foreign() throws {
        let pki = try SharedSimulator.pki
        let signers = [
            try SharedSimulator.foreign.receiptSigner, try pki.expiredSigner(), try pki.signerBelowNonAuthority(),
            try TestPKI.xcodeSigner(),
        ]
        for signer in signers {
            let receipt = try AppReceiptEncoder(signer: signer).encode(content())
            #expect(try verify(receipt, root: pki.root.certificate).status != 0)
        }
    }

    @Test("The attributes are sorted as DER requires, and in_app has the order of the receipt")
    func sorted() throws {
        var content = content()
        content.purchases += (2...40).map {
            AppReceiptPurchase(
                productId: "com.example.app.\($0 % 7)", transactionId: "5000000000000\(10 + $0)",
                purchaseDate: SharedSimulator.noon, productType: 3, expiresDate: SharedSimulator.noon)
        }
        let payload = content.payload()
        let places = content.purchasesInBlobOrder.map {
            payload.firstRange(of: Array($0.transactionId.utf8))?.lowerBound ?? 0
        }
        #expect(places == places.sorted())
        #expect(places.count == 40)
    }

    @Test("An App Receipt with ten thousand purchases can be encoded")
    func large() throws {
        var content = content()
        content.purchases = (0..<10_000).map {
            AppReceiptPurchase(
                productId: "com.example.app.coins100", transactionId: String(500_000_000_000_000 + $0),
                purchaseDate: SharedSimulator.noon, productType: 1)
        }
        #expect(try AppReceiptEncoder(signer: SharedSimulator.pki.receiptSigner).encode(content).count > 3_000_000)
    }
}

@Suite("DER")
struct DEREncoderTests {
    @Test(
        "Integers are encoded in two's complement with as few bytes as possible",
        arguments: [
            (Int64(0), [0x02, 0x01, 0x00]), (127, [0x02, 0x01, 0x7F]), (128, [0x02, 0x02, 0x00, 0x80]),
            (-1, [0x02, 0x01, 0xFF]), (-129, [0x02, 0x02, 0xFF, 0x7F]),
            (1_234_567_890, [0x02, 0x04, 0x49, 0x96, 0x02, 0xD2]),
        ] as [(Int64, [UInt8])])
    func integers(number: Int64, expected: [UInt8]) { #expect(DEREncoder.integer(number) == expected) }

    @Test("Object identifiers, lengths and times are encoded as the standard prescribes")
    func others() {
        #expect(
            DEREncoder.objectIdentifier("1.2.840.113635.100.6.11.1")
                == [0x06, 0x0A, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01])
        #expect(DEREncoder.octetString(Array(repeating: 1, count: 200)).prefix(3) == [0x04, 0x81, 200])
        #expect(DEREncoder.octetString(Array(repeating: 1, count: 300)).prefix(4) == [0x04, 0x82, 1, 44])
        #expect(String(decoding: DEREncoder.time(SharedSimulator.noon), as: UTF8.self) == "\u{17}\u{0D}261121120000Z")
        let late = DEREncoder.time(Timestamp(seconds: 4_102_444_800))
        #expect(String(decoding: late, as: UTF8.self) == "\u{18}\u{0F}21000101000000Z")
        #expect(DEREncoder.set([[2, 1, 5], [2, 1, 3]]) == [0x31, 6, 2, 1, 3, 2, 1, 5])
    }

    @Test("Dates in America/Los_Angeles have daylight saving time")
    func dates() {
        let summer = Timestamp(milliseconds: 1_691_999_446_789)
        #expect(summer.greenwichText == "2023-08-14 07:50:46 Etc/GMT")
        #expect(summer.losAngelesText == "2023-08-14 00:50:46 America/Los_Angeles")
        #expect(Timestamp(seconds: 1_375_340_400).rfc3339 == "2013-08-01T07:00:00Z")
        #expect(Timestamp(seconds: 1_770_091_506).losAngelesText == "2026-02-02 20:05:06 America/Los_Angeles")
        #expect(Timestamp(iso8601: "2026-11-21T12:00:00Z") == SharedSimulator.noon)
        #expect(Timestamp(iso8601: "yesterday") == nil)
    }
}
