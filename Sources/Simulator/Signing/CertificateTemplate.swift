package import Cryptography
package import StoreTypes

/// `Name`: the few attributes that Apple's certificates have, in Apple's newer order.
package struct DistinguishedName: Sendable, Hashable {
    package var commonName: String
    package var organizationalUnit: String?
    package var organization: String

    package init(commonName: String, organizationalUnit: String? = nil, organization: String) {
        self.commonName = commonName
        self.organizationalUnit = organizationalUnit
        self.organization = organization
    }

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

/// From when to when a certificate is valid; both ends count.
package struct Validity: Sendable, Hashable {
    package var from: Timestamp
    package var to: Timestamp

    package init(from: Timestamp, to: Timestamp) {
        self.from = from
        self.to = to
    }

    /// 2006-01-01 to 2044-12-31: every receipt of a simulated world lies within.
    package static let wide = Validity(from: Timestamp(seconds: 1_136_073_600), to: Timestamp(seconds: 2_366_841_599))
    /// 2009-06-15 to 2014-06-14, as the first signer of transactionReceipts: over long ago.
    package static let past = Validity(from: Timestamp(seconds: 1_245_024_000), to: Timestamp(seconds: 1_402_704_000))
}

/// What a certificate says, key and issuer apart.
package struct CertificateTemplate: Sendable, Hashable {
    package var subject: DistinguishedName
    package var validity: Validity
    /// basicConstraints CA and keyUsage keyCertSign, cRLSign; else digitalSignature alone.
    package var isAuthority: Bool
    /// 0 for authorities that issue leaves only.
    package var pathLength: Int64?
    /// Extensions whose value is NULL and whose presence alone means something.
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
