package import Cryptography

/// A certificate with its private key, of a CA or of a signer.
package struct CertificateIdentity: Sendable {
    package let template: CertificateTemplate
    package let issuerName: DistinguishedName
    package let key: SigningKey
    /// The certificate in DER.
    package let certificate: [UInt8]

    /// Creates the identity of a certificate that was issued in an earlier run and stored.
    package init(
        template: CertificateTemplate, issuerName: DistinguishedName, key: SigningKey, certificate: [UInt8]
    ) {
        self.template = template
        self.issuerName = issuerName
        self.key = key
        self.certificate = certificate
    }

    /// Issues a certificate signed by its own key.
    package static func selfSigned(
        _ template: CertificateTemplate, key: SigningKey
    ) throws(CryptographyError) -> CertificateIdentity {
        let certificate = try build(template, key: key, issuerName: template.subject, issuerKey: key)
        return CertificateIdentity(
            template: template, issuerName: template.subject, key: key, certificate: certificate)
    }

    /// Issues a certificate signed by this one's key. It is not checked whether this certificate may issue others,
    /// because tests need forgeries too.
    package func issue(
        _ template: CertificateTemplate, key subjectKey: SigningKey
    ) throws(CryptographyError) -> CertificateIdentity {
        let certificate = try Self.build(
            template, key: subjectKey, issuerName: self.template.subject, issuerKey: key)
        return CertificateIdentity(
            template: template, issuerName: self.template.subject, key: subjectKey, certificate: certificate)
    }

    /// Serial number: eight bytes that depend only on the key and the template, positive and never zero.
    package var serialNumber: [UInt8] { Self.serialNumber(of: key, template) }

    /// `IssuerAndSerialNumber ::= SEQUENCE { issuer Name, serialNumber INTEGER }`
    package var issuerAndSerialNumber: [UInt8] {
        DEREncoder.sequence(issuerName.der, DEREncoder.integer(magnitude: serialNumber))
    }

    private static func serialNumber(of key: SigningKey, _ template: CertificateTemplate) -> [UInt8] {
        let seed = key.publicKeyInfo + template.subject.der + DEREncoder.time(template.validity.to)
        var serial = Array(SHA.digest(seed, with: .sha1).prefix(8))
        guard !serial.isEmpty else { return [1] }
        serial[0] = serial[0] & 0x3F | 0x40
        return serial
    }

    /// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue }`
    private static func build(
        _ template: CertificateTemplate, key: SigningKey, issuerName: DistinguishedName, issuerKey: SigningKey
    ) throws(CryptographyError) -> [UInt8] {
        let algorithm = AlgorithmIdentifier.signature(template.digest, isRSA: issuerKey.isRSA)
        let body = DEREncoder.sequence(
            DEREncoder.context(0, DEREncoder.integer(2)),
            DEREncoder.integer(magnitude: serialNumber(of: key, template)),
            algorithm,
            issuerName.der,
            DEREncoder.sequence(DEREncoder.time(template.validity.from), DEREncoder.time(template.validity.to)),
            template.subject.der,
            key.publicKeyInfo,
            DEREncoder.context(3, DEREncoder.sequence(extensions(template, key: key, issuerKey: issuerKey))))
        let signature = try issuerKey.signature(over: body, digest: template.digest)
        return DEREncoder.sequence(body, algorithm, DEREncoder.bitString(signature))
    }

    private static func extensions(
        _ template: CertificateTemplate, key: SigningKey, issuerKey: SigningKey
    ) -> [[UInt8]] {
        var constraints = template.isAuthority ? [DEREncoder.boolean(true)] : []
        if template.isAuthority, let pathLength = template.pathLength {
            constraints.append(DEREncoder.integer(pathLength))
        }
        // Bits 5 and 6 are keyCertSign and cRLSign, bit 0 is digitalSignature.
        let usage: [UInt8] =
            template.isAuthority
            ? DEREncoder.bitString([0x06], unusedBits: 1) : DEREncoder.bitString([0x80], unusedBits: 7)
        return [
            entry(ObjectIdentifiers.basicConstraints, critical: true, DEREncoder.sequence(constraints)),
            entry(
                ObjectIdentifiers.authorityKeyIdentifier,
                DEREncoder.sequence(DEREncoder.primitiveContext(0, keyIdentifier(issuerKey)))),
            entry(ObjectIdentifiers.subjectKeyIdentifier, DEREncoder.octetString(keyIdentifier(key))),
            entry(ObjectIdentifiers.keyUsage, critical: true, usage),
        ] + template.markers.map { entry($0, DEREncoder.null) }
    }

    /// `Extension ::= SEQUENCE { extnID, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }`
    private static func entry(_ identifier: String, critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        var parts = [DEREncoder.objectIdentifier(identifier)]
        if critical { parts.append(DEREncoder.boolean(true)) }
        parts.append(DEREncoder.octetString(value))
        return DEREncoder.sequence(parts)
    }

    private static func keyIdentifier(_ key: SigningKey) -> [UInt8] {
        SHA.digest(key.publicKeyInfo, with: .sha1)
    }
}
