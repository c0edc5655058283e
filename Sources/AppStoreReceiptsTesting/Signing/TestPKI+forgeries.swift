package import ReceiptBridgeCryptography

/// Signers that a verifier must reject, made from the genuine tree.
extension TestPKI {
    /// Issues another receipt signer below the genuine intermediate, with any change of its template.
    ///
    /// - Parameter key: key of the new signer, or `nil` for the key of the genuine one.
    package func issueReceiptSigner(
        key: SigningKey? = nil, changing change: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(CryptographyError) -> ReceiptSigner {
        var template = receiptLeaf.template
        change(&template)
        let leaf = try developerRelations.issue(template, key: key ?? receiptLeaf.key)
        return ReceiptSigner(leaf: leaf, issuers: [developerRelations, root])
    }

    /// Issues an intermediate below the genuine root, with any change of its template, and a receipt signer below it.
    ///
    /// The intermediate has another key than the genuine one. With the genuine key, the leaf would also verify below
    /// the genuine intermediate, which a verifier may know.
    package func issueReceiptSignerBelowAuthority(
        changing change: (inout CertificateTemplate) -> Void
    ) throws(CryptographyError) -> ReceiptSigner {
        var template = developerRelations.template
        change(&template)
        let authority = try root.issue(template, key: iTunesStore.key)
        let leaf = try authority.issue(receiptLeaf.template, key: receiptLeaf.key)
        return ReceiptSigner(leaf: leaf, issuers: [authority, root])
    }

    /// A development certificate as any developer gets one: genuine intermediate and root, but without the receipt
    /// marker.
    package func developerCertificate() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSigner {
            $0.subject.commonName = "iPhone Developer: Jane Doe (TEST000000)"
            $0.markers = [ObjectIdentifiers.developerCertificate]
        }
    }

    /// A leaf with the right markers whose issuer has no marker.
    package func signerBelowUnmarkedAuthority() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSignerBelowAuthority { $0.markers = [] }
    }

    /// A leaf whose issuer has the marker but is not a CA according to its basicConstraints.
    package func signerBelowNonAuthority() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSignerBelowAuthority { $0.isAuthority = false }
    }

    /// A signer that was valid from 2009 to 2014 only.
    package func expiredSigner() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSigner { $0.validity = .past }
    }

    /// A signer as StoreKit Testing in Xcode has: one self-signed certificate.
    package static func xcodeSigner() throws(CryptographyError) -> ReceiptSigner {
        let template = CertificateTemplate(
            subject: DistinguishedName(commonName: "StoreKit", organization: "StoreKit Testing"))
        return ReceiptSigner(leaf: try .selfSigned(template, key: try forgersKey.get()), issuers: [])
    }

    /// A receipt signer with all of Apple's names below a root of its own. Only the keys differ from Apple's.
    ///
    /// Faster than a complete tree with ``Options/imitatesApple``, because only the root gets another key.
    package func foreignReceiptSigner() throws(CryptographyError) -> ReceiptSigner {
        let apple = Options.forgery
        let root = try CertificateIdentity.selfSigned(
            CertificatePosition.root.template(apple), key: Self.forgersKey.get())
        let authority = try root.issue(
            CertificatePosition.developerRelations.template(apple), key: developerRelations.key)
        let leaf = try authority.issue(CertificatePosition.receiptLeaf.template(apple), key: receiptLeaf.key)
        return ReceiptSigner(leaf: leaf, issuers: [authority, root])
    }

    /// The key of all forgers, which no genuine certificate has. It is made once, because that takes longer than the
    /// rest of a state directory.
    private static let forgersKey = Result { () throws(CryptographyError) -> SigningKey in try .rsa(bits: 2048) }
}
