import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T18: a certificate comes from outside and may contain URLs of an internal network.
@Suite("Certificates with URLs in them")
struct HostileCertificateTests {
    /// Authority Information Access (issuer and OCSP), CRL distribution points and the freshest CRL: every extension
    /// of RFC 5280 that makes a verifier fetch a URL.
    private static func extensions(naming address: String) -> [[UInt8]] {
        let name = DEREncoder.primitiveContext(6, Array(address.utf8))
        func access(_ method: String) -> [UInt8] { DEREncoder.sequence(DEREncoder.objectIdentifier(method), name) }
        let point = DEREncoder.sequence(DEREncoder.sequence(DEREncoder.context(0, DEREncoder.context(0, name))))
        return [
            CertificateBlueprint.entry(
                "1.3.6.1.5.5.7.1.1",
                DEREncoder.sequence(access("1.3.6.1.5.5.7.48.2"), access("1.3.6.1.5.5.7.48.1"))),
            CertificateBlueprint.entry("2.5.29.31", point),
            CertificateBlueprint.entry("2.5.29.46", point),
        ]
    }

    /// Returns the receipt signer's certificate with those URLs in it, for any key.
    private func leaf(_ key: SigningKey, naming address: String, issuer: CertificateIdentity) throws
        -> CertificateIdentity
    {
        let template = try SharedSimulator.pki.receiptLeaf.template
        var identity = CertificateIdentity(
            template: template, issuerName: issuer.template.subject, key: key, certificate: [])
        var blueprint = CertificateBlueprint(
            issuer: issuer.template.subject, subject: template.subject, publicKeyInfo: key.publicKeyInfo,
            extensions: [CertificateBlueprint.entry(ObjectIdentifiers.receiptSigner)]
                + Self.extensions(naming: address))
        blueprint.serialNumber = identity.serialNumber
        identity = CertificateIdentity(
            template: template, issuerName: issuer.template.subject, key: key,
            certificate: try blueprint.der(signedBy: issuer.key))
        return identity
    }

    /// Returns signers with the issuer's certificate, without it, and below an unknown issuer.
    private func signers(naming address: String) throws -> [(signer: ReceiptSigner, status: Int64)] {
        let (pki, foreign) = (try SharedSimulator.pki, try SharedSimulator.foreign)
        let good = try leaf(pki.receiptLeaf.key, naming: address, issuer: pki.developerRelations)
        let forged = try leaf(foreign.receiptLeaf.key, naming: address, issuer: foreign.developerRelations)
        let stranger = try pki.issueReceiptSignerBelowAuthority { $0.subject.commonName = "An authority elsewhere" }
        let orphan = try leaf(pki.receiptLeaf.key, naming: address, issuer: stranger.issuers[0])
        return [
            (ReceiptSigner(leaf: good, issuers: [pki.developerRelations, pki.root]), 0),
            (ReceiptSigner(leaf: forged, issuers: [foreign.developerRelations, foreign.root]), 21003),
            (ReceiptSigner(leaf: orphan, issuers: []), 21005),
            (ReceiptSigner(leaf: orphan, issuers: [stranger.issuers[0], pki.root]), 0),
        ]
    }

    // T18
    @Test("URLs in a receipt's certificate are not requested, neither for an issuer nor for revocation")
    func receipts() async throws {
        let elsewhere = try TestServer(reply: .json("{}"))
        defer { elsewhere.stop() }
        let address = "http://127.0.0.1:\(elsewhere.port)/authority.cer"
        try await Proxy.serving({ _, app in app.answer = [.receipt] }) { proxy in
            for (signer, status) in try signers(naming: address) {
                let text = Base64.encode(try MintedReceipts.app(signer: signer))
                #expect(text.count > 2_000)
                let body = Question.body(text, password: Proxy.secret)
                #expect(try await proxy.verify(body).verdict == status)
            }
        }
        #expect(elsewhere.counts.connections == 0)
        _ = try RawConnection(port: elsewhere.port)
        #expect(await eventually { elsewhere.counts.connections == 1 })
    }

    // T18
    @Test("URLs in a certificate of a JWS are not requested")
    func signedTexts() throws {
        let elsewhere = try TestServer(reply: .json("{}"))
        defer { elsewhere.stop() }
        let pki = try SharedSimulator.pki
        let leaf = try leaf(
            pki.jwsLeaf.key, naming: "http://127.0.0.1:\(elsewhere.port)/", issuer: pki.developerRelations)
        let trust = try TrustStore(
            anchors: TrustAnchors(roots: [try Certificate(der: pki.root.certificate.span)], intermediates: []))
        let verifier = SignedPayloadVerifier(trust: trust)
        for (issuers, holds) in [([pki.developerRelations, pki.root], true), ([pki.root, pki.root], false)] {
            let text = try ReceiptSigner(leaf: leaf, issuers: issuers).jws(
                payload: JSONValue(["transactionId": "1"]))
            let signed = try? verifier.verify(text, as: TransactionPayload.self, now: SharedSimulator.noon)
            #expect((signed != nil) == holds)
        }
        #expect(elsewhere.counts.connections == 0)
    }
}
