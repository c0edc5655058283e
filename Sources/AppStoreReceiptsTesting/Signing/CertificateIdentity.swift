package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// A certificate with its private key, of a CA or of a signer.
package struct CertificateIdentity: Sendable {
    package let template: CertificateTemplate
    package let issuerName: DistinguishedName
    package let key: SigningKey
    package private(set) var certificate: [UInt8]

    /// Creates the identity of a certificate that was issued in an earlier run and stored.
    package init(template: CertificateTemplate, issuerName: DistinguishedName, key: SigningKey, certificate: [UInt8]) {
        (self.template, self.issuerName, self.key, self.certificate) = (template, issuerName, key, certificate)
    }

    /// Issues a certificate signed by its own key.
    package static func selfSigned(
        _ template: CertificateTemplate, key: SigningKey
    ) throws(CryptographyError) -> CertificateIdentity {
        try CertificateIdentity(template, key: key, issuerName: template.subject, issuerKey: key)
    }

    /// Issues a certificate signed by this one's key. It is not checked whether this certificate may issue others,
    /// because tests need forgeries too.
    package func issue(
        _ template: CertificateTemplate, key subjectKey: SigningKey
    ) throws(CryptographyError) -> CertificateIdentity {
        try CertificateIdentity(template, key: subjectKey, issuerName: self.template.subject, issuerKey: key)
    }

    /// Serial number: eight bytes that depend only on the key and the template, positive and never zero.
    package var serialNumber: [UInt8] {
        let seed = key.publicKeyInfo + template.subject.der + DEREncoder.time(template.validity.to)
        var serial = Array(SHA.digest(seed, with: .sha1).prefix(8))
        guard !serial.isEmpty else { return [1] }
        serial[0] = serial[0] & 0x3F | 0x40
        return serial
    }

    /// `IssuerAndSerialNumber ::= SEQUENCE { issuer Name, serialNumber INTEGER }`
    package var issuerAndSerialNumber: [UInt8] {
        DEREncoder.sequence(issuerName.der, DEREncoder.integer(magnitude: serialNumber))
    }

    /// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue }`
    private init(
        _ template: CertificateTemplate, key: SigningKey, issuerName: DistinguishedName, issuerKey: SigningKey
    ) throws(CryptographyError) {
        self.init(template: template, issuerName: issuerName, key: key, certificate: [])
        let algorithm = AlgorithmIdentifier.signature(template.digest, isRSA: issuerKey.isRSA)
        let body = DEREncoder.sequence(
            DEREncoder.context(0, DEREncoder.integer(2)),
            DEREncoder.integer(magnitude: serialNumber),
            algorithm,
            issuerName.der,
            DEREncoder.sequence(DEREncoder.time(template.validity.from), DEREncoder.time(template.validity.to)),
            template.subject.der,
            key.publicKeyInfo,
            DEREncoder.context(3, DEREncoder.sequence(extensions(signedBy: issuerKey))))
        let signature = try issuerKey.signature(over: body, digest: template.digest)
        certificate = DEREncoder.sequence(body, algorithm, DEREncoder.bitString(signature))
    }

    private func extensions(signedBy issuerKey: SigningKey) -> [[UInt8]] {
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
    private func entry(_ identifier: String, critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        var parts = [DEREncoder.objectIdentifier(identifier)]
        if critical { parts.append(DEREncoder.boolean(true)) }
        parts.append(DEREncoder.octetString(value))
        return DEREncoder.sequence(parts)
    }

    private func keyIdentifier(_ key: SigningKey) -> [UInt8] { SHA.digest(key.publicKeyInfo, with: .sha1) }
}

/// An X.500 `Name` with the few attributes of Apple's certificates, in the order of Apple's newer ones.
package struct DistinguishedName: Sendable, Hashable {
    package var commonName: String
    package var organizationalUnit: String?
    package var organization: String

    package init(commonName: String, organizationalUnit: String? = nil, organization: String) {
        (self.commonName, self.organizationalUnit, self.organization) = (commonName, organizationalUnit, organization)
    }

    /// The encoded name. The country is always US.
    package var der: [UInt8] {
        var parts = [attribute("2.5.4.3", DEREncoder.utf8String(commonName))]
        if let organizationalUnit { parts.append(attribute("2.5.4.11", DEREncoder.utf8String(organizationalUnit))) }
        parts.append(attribute("2.5.4.10", DEREncoder.utf8String(organization)))
        parts.append(attribute("2.5.4.6", DEREncoder.printableString("US")))
        return DEREncoder.sequence(parts)
    }

    private func attribute(_ type: String, _ value: [UInt8]) -> [UInt8] {
        DEREncoder.set([DEREncoder.sequence(DEREncoder.objectIdentifier(type), value)])
    }
}

/// The validity period of a certificate, including both ends.
package struct Validity: Sendable, Hashable {
    package var from: Timestamp
    package var to: Timestamp

    package init(from: Timestamp, to: Timestamp) {
        self.from = from
        self.to = to
    }

    /// 2006-01-01 to 2044-12-31, which covers every receipt of a simulated world.
    package static let wide = Validity(from: Timestamp(seconds: 1_136_073_600), to: Timestamp(seconds: 2_366_841_599))
    /// 2009-06-15 to 2014-06-14, like Apple's first signer of transactionReceipts: expired long ago.
    package static let past = Validity(from: Timestamp(seconds: 1_245_024_000), to: Timestamp(seconds: 1_402_704_000))
}

/// The content of a certificate, except key and issuer.
package struct CertificateTemplate: Sendable, Hashable {
    package var subject: DistinguishedName
    package var validity = Validity.wide
    /// Whether the certificate is a CA (basicConstraints CA, keyUsage keyCertSign and cRLSign). Otherwise its
    /// keyUsage is only digitalSignature.
    var isAuthority = false
    /// `pathLenConstraint`: 0 if the CA issues only leaves, `nil` if there is no limit.
    var pathLength: Int64?
    /// Object identifiers of extensions whose value is NULL; only their presence matters.
    package var markers: [String] = []
    /// Digest of the issuer's signature on this certificate.
    package var digest = DigestAlgorithm.sha256
}
