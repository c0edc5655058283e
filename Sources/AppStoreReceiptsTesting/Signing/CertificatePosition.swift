import ReceiptBridgeCryptography

/// The positions in the two trees of certificates, issuers first. The raw value is a file name of a state directory.
package enum CertificatePosition: String, CaseIterable, Sendable {
    case root, developerRelations, receiptLeaf, iTunesStore, purchaseLeaf, jwsRoot, jwsAuthority, jwsLeaf

    /// Returns the content of the certificate, without key and issuer.
    func template(_ options: TestPKI.Options) -> CertificateTemplate {
        let isRoot = self == .root || self == .jwsRoot
        let isAuthority = isRoot || [.developerRelations, .iTunesStore, .jwsAuthority].contains(self)
        let isOfJWS = [.jwsRoot, .jwsAuthority, .jwsLeaf].contains(self)
        return CertificateTemplate(
            subject: options.imitatesApple ? appleSubject : simulatorSubject,
            validity: isRoot ? .wide : options.validity, isAuthority: isAuthority,
            pathLength: isAuthority && !isRoot ? 0 : nil, markers: markers,
            digest: isOfJWS ? .sha384 : options.certificateDigest)
    }

    func makeKey(_ options: TestPKI.Options) throws(CryptographyError) -> SigningKey {
        switch self {
        case .root, .developerRelations, .receiptLeaf, .iTunesStore: try .rsa(bits: options.rsaBits)
        case .purchaseLeaf: try .rsa(bits: options.purchaseSignerBits)
        case .jwsRoot, .jwsAuthority: try .p384()
        case .jwsLeaf: try .p256()
        }
    }

    private var markers: [String] {
        switch self {
        case .root, .jwsRoot: []
        case .developerRelations, .jwsAuthority: [ObjectIdentifiers.developerRelations]
        case .receiptLeaf, .jwsLeaf: [ObjectIdentifiers.receiptSigner]
        case .iTunesStore: [ObjectIdentifiers.iTunesStore]
        case .purchaseLeaf: [ObjectIdentifiers.purchaseSigner]
        }
    }

    private var simulatorSubject: DistinguishedName {
        let name =
            switch self {
            case .root: "Root CA"
            case .developerRelations, .jwsAuthority: "Worldwide Developer Relations Certification Authority"
            case .receiptLeaf: "Mac App Store and iTunes Store Receipt Signing"
            case .iTunesStore: "iTunes Store Certification Authority"
            case .purchaseLeaf: "Purchase Receipt Certificate"
            case .jwsRoot: "Root CA - EC"
            case .jwsLeaf: "ECC Receipt Signing"
            }
        return DistinguishedName(
            commonName: "Receipt Bridge Simulator \(name)",
            organizationalUnit: self == .jwsAuthority ? "Test Only EC" : "Test Only",
            organization: "Receipt Bridge Simulator")
    }

    private var appleSubject: DistinguishedName {
        let row: (name: String, unit: String) =
            switch self {
            case .root: ("Apple Root CA", "Apple Certification Authority")
            case .developerRelations: ("Apple Worldwide Developer Relations Certification Authority", "G5")
            case .receiptLeaf:
                ("Mac App Store and iTunes Store Receipt Signing", "Apple Worldwide Developer Relations")
            case .iTunesStore: ("Apple iTunes Store Certification Authority", "Apple Certification Authority")
            case .purchaseLeaf: ("PurchaseReceiptCertificate", "Apple iTunes Store")
            case .jwsRoot: ("Apple Root CA - G3", "Apple Certification Authority")
            case .jwsAuthority: ("Apple Worldwide Developer Relations Certification Authority", "G6")
            case .jwsLeaf:
                ("Prod ECC Mac App Store and iTunes Store Receipt Signing", "Apple Worldwide Developer Relations")
            }
        return DistinguishedName(commonName: row.name, organizationalUnit: row.unit, organization: "Apple Inc.")
    }
}
