package import Base
package import Cryptography

/// An X.500 `Name` with the few attributes of Apple's certificates, in the order of Apple's newer ones.
package struct DistinguishedName: Sendable, Hashable {
    package var commonName: String
    package var organizationalUnit: String?
    package var organization: String

    package init(commonName: String, organizationalUnit: String? = nil, organization: String) {
        self.commonName = commonName
        self.organizationalUnit = organizationalUnit
        self.organization = organization
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
    package var validity: Validity
    /// Whether the certificate is a CA (basicConstraints CA, keyUsage keyCertSign and cRLSign). Otherwise its
    /// keyUsage is only digitalSignature.
    package var isAuthority: Bool
    /// `pathLenConstraint`: 0 if the CA issues only leaves, `nil` if there is no limit.
    package var pathLength: Int64?
    /// Object identifiers of extensions whose value is NULL; only their presence matters.
    package var markers: [String]
    /// Digest of the issuer's signature on this certificate.
    package var digest: DigestAlgorithm

    package init(
        subject: DistinguishedName, validity: Validity = .wide, isAuthority: Bool = false, pathLength: Int64? = nil,
        markers: [String] = [], digest: DigestAlgorithm = .sha256
    ) {
        self.subject = subject
        self.validity = validity
        self.isAuthority = isAuthority
        self.pathLength = pathLength
        self.markers = markers
        self.digest = digest
    }
}
