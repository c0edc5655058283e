import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Certificates of the simulator")
struct TestPKITests {
    private func verify(_ signer: ReceiptSigner, root: [UInt8]) throws -> (status: Int32, errors: String) {
        let scratch = try TemporaryFolder()
        let rootFile = try scratch.writeCertificates("root.pem", [root])
        let chain = try scratch.writeCertificates("chain.pem", signer.issuers.map(\.certificate))
        let leaf = try scratch.writeCertificates("leaf.pem", [signer.leaf.certificate])
        let verdict = try scratch.openssl(
            "verify", "-x509_strict", "-no-CApath", "-attime", String(SharedSimulator.noon.seconds), "-CAfile",
            rootFile,
            "-untrusted", chain, leaf)
        return (verdict.status, verdict.errors)
    }

    @Test("The RSA and EC chains pass openssl's strict checks")
    func strict() throws {
        let pki = try SharedSimulator.pki
        for (signer, root) in [
            (pki.receiptSigner, pki.root), (pki.purchaseSigner, pki.root), (pki.jwsSigner, pki.jwsRoot),
            (try pki.developerCertificate(), pki.root), (try pki.signerBelowUnmarkedAuthority(), pki.root),
            (try pki.ecSigner(), pki.root),
        ] {
            let verdict = try verify(signer, root: root.certificate)
            #expect(verdict.status == 0, "\(signer.leaf.template.subject.commonName): \(verdict.errors)")
        }
    }

    @Test("The certificates have the requested markers, key sizes and names")
    func text() throws {
        let pki = try SharedSimulator.pki
        let expected: [(CertificateIdentity, [String])] = [
            (pki.root, ["CN=Receipt Bridge Simulator Root CA", "(2048 bit)", "CA:TRUE"]),
            (pki.developerRelations, ["1.2.840.113635.100.6.2.1", "CA:TRUE, pathlen:0"]),
            (pki.receiptLeaf, ["1.2.840.113635.100.6.11.1", "(2048 bit)", "CA:FALSE", "Digital Signature"]),
            (pki.iTunesStore, ["1.2.840.113635.100.6.2.2"]),
            (pki.purchaseLeaf, ["1.2.840.113635.100.6.5.1", "(1024 bit)"]),
            (pki.jwsLeaf, ["1.2.840.113635.100.6.11.1", "P-256", "ecdsa-with-SHA384"]),
        ]
        let scratch = try TemporaryFolder()
        for (identity, words) in expected {
            let file = try scratch.writeCertificates("certificate.pem", [identity.certificate])
            let text = try scratch.text(ofCertificate: file)
            #expect(text.contains("Version: 3"))
            #expect(text.contains("Subject Key Identifier") && text.contains("Authority Key Identifier"))
            for word in words { #expect(text.contains(word), "\(word) in \(text)") }
        }
    }

    @Test("Digests, key sizes and validity can be chosen")
    func options() throws {
        var options = TestPKI.Options()
        (options.certificateDigest, options.validity) = (.sha1, .past)
        (options.rsaBits, options.purchaseSignerBits) = (1536, 768)
        let pki = try TestPKI(options)
        let scratch = try TemporaryFolder()
        let file = try scratch.writeCertificates("leaf.pem", [pki.receiptLeaf.certificate])
        let text = try scratch.text(ofCertificate: file)
        for word in ["sha1WithRSAEncryption", "(1536 bit)", "Jun 15 00:00:00 2009 GMT", "2014 GMT"] {
            #expect(text.contains(word), "\(word) in \(text)")
        }
    }
}

@Suite("JWS of the simulator")
struct SimulatedJWSTests {
    @Test("A JWS has three certificates, and its signature covers header and payload")
    func signed() throws {
        let pki = try SharedSimulator.pki
        let text = try pki.jwsSigner.jws(payload: JSONValue(["transactionId": "1"]))
        let parts = text.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        #expect(parts[0].hasPrefix("eyJ"))
        func decode(_ part: String) throws -> [UInt8] {
            let standard = part.replacing("-", with: "+").replacing("_", with: "/")
            return try #require(Base64.decode(standard + String(repeating: "=", count: (4 - part.count % 4) % 4)))
        }
        let header = try JSONValue(reading: try decode(parts[0]))
        #expect(header["alg"]?.text == "ES256")
        #expect(header["x5c"]?.elements?.compactMap { $0.text.flatMap(Base64.decode) } == pki.jwsSigner.certificates)
        let raw = try decode(parts[2])
        #expect(raw.count == 64)
        let scratch = try TemporaryFolder()
        let der = DEREncoder.sequence(
            DEREncoder.integer(magnitude: Array(raw[..<32])), DEREncoder.integer(magnitude: Array(raw[32...])))
        try scratch.write("signature", der)
        try scratch.write("message", Array("\(parts[0]).\(parts[1])".utf8))
        try scratch.write("key", pki.jwsLeaf.key.publicKeyInfo)
        let verdict = try scratch.openssl(
            "dgst", "-sha256", "-keyform", "DER", "-verify", "key", "-signature", "signature", "message")
        #expect(verdict.status == 0, "\(verdict.errors)")
    }
}
