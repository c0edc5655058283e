import Cryptography

/// Keys and certificates of an earlier run, by their place in the tree.
struct PKIStore: Sendable {
    /// The places; the raw value is a file name.
    enum Place: String, CaseIterable, Sendable {
        case root, developerRelations, receiptLeaf, iTunesStore, purchaseLeaf, jwsRoot, jwsAuthority, jwsLeaf
    }

    struct Entry: Sendable {
        let privateKeyPEM: String
        let certificate: [UInt8]
    }

    var entries: [Place: Entry] = [:]

    /// The kept identity of `place`, or a new one; without an issuer it signs itself.
    func identity(
        _ place: Place, _ template: CertificateTemplate, _ kind: KeyKind, by issuer: CertificateIdentity? = nil
    ) throws(CryptographyError) -> CertificateIdentity {
        if let entry = entries[place] {
            return CertificateIdentity(
                template: template, issuerName: issuer?.template.subject ?? template.subject,
                key: try SigningKey(privateKeyPEM: entry.privateKeyPEM), certificate: entry.certificate)
        }
        let key = try kind.makeKey()
        guard let issuer else { return try .selfSigned(template, key: key) }
        return try issuer.issue(template, key: key)
    }
}

/// The kinds of key that App Store authorities and signers have.
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
    /// Everything, to be kept.
    var keep: PKIStore {
        let identities: [(PKIStore.Place, CertificateIdentity)] = [
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
