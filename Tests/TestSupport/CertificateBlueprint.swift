package import ReceiptBridgeCryptography
package import ReceiptBridgeSimulator

/// A certificate assembled from its parts, for unusual keys and extensions that no `CertificateTemplate` allows.
package struct CertificateBlueprint: Sendable {
    package var issuer: DistinguishedName
    package var subject: DistinguishedName
    /// SubjectPublicKeyInfo in DER, or any other bytes to put in its position.
    package var publicKeyInfo: [UInt8]
    /// `Extension` values in DER.
    package var extensions: [[UInt8]]
    package var validity = Validity.wide
    /// Big-endian and positive.
    package var serialNumber: [UInt8] = [77]

    package init(
        issuer: DistinguishedName, subject: DistinguishedName = .init(commonName: "Forged", organization: "Test"),
        publicKeyInfo: [UInt8], extensions: [[UInt8]] = []
    ) {
        self.issuer = issuer
        self.subject = subject
        self.publicKeyInfo = publicKeyInfo
        self.extensions = extensions
    }

    /// Encodes `Extension ::= SEQUENCE { extnID, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }`.
    package static func entry(
        _ identifier: String, critical: Bool = false, _ value: [UInt8] = DEREncoder.null
    ) -> [UInt8] {
        DEREncoder.sequence(
            [DEREncoder.objectIdentifier(identifier)] + (critical ? [DEREncoder.boolean(true)] : [])
                + [DEREncoder.octetString(value)])
    }

    /// Returns the certificate, signed with SHA-256 and RSA. Without a key, the signature is not valid.
    package func der(signedBy key: SigningKey? = nil) throws(CryptographyError) -> [UInt8] {
        let algorithm = DEREncoder.sequence(DEREncoder.objectIdentifier("1.2.840.113549.1.1.11"), DEREncoder.null)
        let body = DEREncoder.sequence(
            DEREncoder.context(0, DEREncoder.integer(2)), DEREncoder.integer(magnitude: serialNumber), algorithm,
            issuer.der,
            DEREncoder.sequence(DEREncoder.time(validity.from), DEREncoder.time(validity.to)), subject.der,
            publicKeyInfo, DEREncoder.context(3, DEREncoder.sequence(extensions)))
        let signature = try key?.signature(over: body, digest: .sha256) ?? [UInt8](repeating: 1, count: 256)
        return DEREncoder.sequence(body, algorithm, DEREncoder.bitString(signature))
    }
}
