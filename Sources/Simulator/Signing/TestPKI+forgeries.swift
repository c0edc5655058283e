package import Cryptography

/// Signers that a verifier must refuse, made from a good tree.
extension TestPKI {
    /// A further receipt signer below the same authority, changed at will; a new key only where one is given.
    package func issueReceiptSigner(
        key: SigningKey? = nil, changing change: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(CryptographyError) -> ReceiptSigner {
        var template = receiptLeaf.template
        change(&template)
        let leaf = try developerRelations.issue(template, key: key ?? receiptLeaf.key)
        return ReceiptSigner(leaf: leaf, issuers: [developerRelations, root])
    }

    /// The receipt signer below another authority of the same root, changed at will.
    ///
    /// Its key is its own: below the good one's key the leaf would be genuine to whoever has the good one at hand.
    package func issueReceiptSignerBelowAuthority(
        changing change: (inout CertificateTemplate) -> Void
    ) throws(CryptographyError) -> ReceiptSigner {
        var template = developerRelations.template
        change(&template)
        let authority = try root.issue(template, key: .rsa(bits: options.rsaBits))
        let leaf = try authority.issue(receiptLeaf.template, key: receiptLeaf.key)
        return ReceiptSigner(leaf: leaf, issuers: [authority, root])
    }

    /// A certificate as any developer gets one: the right authority and root, but not the receipt marker.
    package func developerCertificate() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSigner {
            $0.subject.commonName = "iPhone Developer: Jane Doe (TEST000000)"
            $0.markers = [ObjectIdentifiers.developerCertificate]
        }
    }

    /// The right markers on the leaf, but its authority lacks its own.
    package func signerBelowUnmarkedAuthority() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSignerBelowAuthority { $0.markers = [] }
    }

    /// The leaf's issuer is marked, but no authority by its basicConstraints.
    package func signerBelowNonAuthority() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSignerBelowAuthority { $0.isAuthority = false }
    }

    /// Valid from 2009 to 2014 only.
    package func expiredSigner() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSigner { $0.validity = .past }
    }

    /// An EC leaf that would sign App Receipts.
    package func ecSigner() throws(CryptographyError) -> ReceiptSigner {
        try issueReceiptSigner(key: try .p256())
    }

    /// As StoreKit Testing in Xcode signs: one certificate, its own issuer.
    package static func xcodeSigner(bits: Int = 2048) throws(CryptographyError) -> ReceiptSigner {
        let template = CertificateTemplate(
            subject: DistinguishedName(commonName: "StoreKit", organization: "StoreKit Testing"))
        return ReceiptSigner(
            leaf: try .selfSigned(template, key: try .rsa(bits: bits)), issuers: [])
    }

    /// A receipt signer with all of Apple's names and a root of its own; only keys give it away.
    ///
    /// Cheaper than ``foreign(rsaBits:)``: the root's key alone is new.
    package func foreignReceiptSigner() throws(CryptographyError) -> ReceiptSigner {
        let templates = PKITemplates(Options(names: .apple))
        let root = try CertificateIdentity.selfSigned(templates.root, key: .rsa(bits: options.rsaBits))
        let authority = try root.issue(templates.developerRelations, key: developerRelations.key)
        let leaf = try authority.issue(templates.receiptLeaf, key: receiptLeaf.key)
        return ReceiptSigner(leaf: leaf, issuers: [authority, root])
    }

    /// A whole tree with Apple's names and keys of its own.
    package static func foreign(rsaBits: Int = 2048) throws(CryptographyError) -> TestPKI {
        try TestPKI(Options(names: .apple, rsaBits: rsaBits))
    }
}
