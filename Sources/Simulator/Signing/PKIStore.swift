import Cryptography

/// The keys and certificates of an earlier run, by their position in the tree of certificates.
struct PKIStore: Sendable {
    /// The positions in the tree. The raw value is a file name.
    enum Position: String, CaseIterable, Sendable {
        case root, developerRelations, receiptLeaf, iTunesStore, purchaseLeaf, jwsRoot, jwsAuthority, jwsLeaf
    }

    struct Entry: Sendable {
        let privateKeyPEM: String
        let certificate: [UInt8]
    }

    var entries: [Position: Entry] = [:]

    /// Returns the stored identity at `position`, or a new one. Without an issuer, the new one is self-signed.
    func identity(
        _ position: Position, _ template: CertificateTemplate, _ kind: KeyKind, by issuer: CertificateIdentity? = nil
    ) throws(CryptographyError) -> CertificateIdentity {
        if let entry = entries[position] {
            return CertificateIdentity(
                template: template, issuerName: issuer?.template.subject ?? template.subject,
                key: try SigningKey(privateKeyPEM: entry.privateKeyPEM), certificate: entry.certificate)
        }
        let key = try kind.makeKey()
        guard let issuer else { return try .selfSigned(template, key: key) }
        return try issuer.issue(template, key: key)
    }
}

/// The types of keys of the App Store's CAs and signers.
enum KeyKind: Sendable {
    case rsa(bits: Int), p256, p384

    func makeKey() throws(CryptographyError) -> SigningKey {
        switch self {
        case .rsa(let bits): try .rsa(bits: bits)
        case .p256: try .p256()
        case .p384: try .p384()
        }
    }
}

extension TestPKI {
    /// All keys and certificates, in the form that a state directory stores.
    var stored: PKIStore {
        let identities: [(PKIStore.Position, CertificateIdentity)] = [
            (.root, root), (.developerRelations, developerRelations), (.receiptLeaf, receiptLeaf),
            (.iTunesStore, iTunesStore), (.purchaseLeaf, purchaseLeaf), (.jwsRoot, jwsRoot),
            (.jwsAuthority, jwsAuthority), (.jwsLeaf, jwsLeaf),
        ]
        return PKIStore(
            entries: Dictionary(
                identities.map {
                    ($0, PKIStore.Entry(privateKeyPEM: $1.key.privateKeyPEM, certificate: $1.certificate))
                }, uniquingKeysWith: { first, _ in first }))
    }
}
