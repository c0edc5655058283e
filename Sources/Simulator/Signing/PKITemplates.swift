import Cryptography

/// The templates of all certificates of a ``TestPKI``; the keys are added later.
struct PKITemplates {
    let root, developerRelations, receiptLeaf, iTunesStore, purchaseLeaf: CertificateTemplate
    let jwsRoot, jwsAuthority, jwsLeaf: CertificateTemplate

    init(_ options: TestPKI.Options) {
        let (digest, validity) = (options.certificateDigest, options.validity)
        let names = PKINames(options.names)
        root = CertificateTemplate(subject: names.root, validity: .wide, isAuthority: true, digest: digest)
        developerRelations = CertificateTemplate(
            subject: names.developerRelations, validity: validity, isAuthority: true, pathLength: 0,
            markers: [ObjectIdentifiers.developerRelations], digest: digest)
        receiptLeaf = CertificateTemplate(
            subject: names.receiptLeaf, validity: validity, markers: [ObjectIdentifiers.receiptSigner],
            digest: digest)
        iTunesStore = CertificateTemplate(
            subject: names.iTunesStore, validity: validity, isAuthority: true, pathLength: 0,
            markers: [ObjectIdentifiers.iTunesStore], digest: digest)
        purchaseLeaf = CertificateTemplate(
            subject: names.purchaseLeaf, validity: validity, markers: [ObjectIdentifiers.purchaseSigner],
            digest: digest)
        jwsRoot = CertificateTemplate(subject: names.jwsRoot, validity: .wide, isAuthority: true, digest: .sha384)
        jwsAuthority = CertificateTemplate(
            subject: names.jwsAuthority, validity: validity, isAuthority: true, pathLength: 0,
            markers: [ObjectIdentifiers.developerRelations], digest: .sha384)
        jwsLeaf = CertificateTemplate(
            subject: names.jwsLeaf, validity: validity, markers: [ObjectIdentifiers.receiptSigner], digest: .sha384)
    }
}

/// The subjects of all certificates.
private struct PKINames {
    let root, developerRelations, receiptLeaf, iTunesStore, purchaseLeaf: DistinguishedName
    let jwsRoot, jwsAuthority, jwsLeaf: DistinguishedName

    init(_ names: TestPKI.Names) {
        let isApple = names == .apple
        let organization = isApple ? "Apple Inc." : "Receipt Bridge Simulator"
        let prefix = isApple ? "" : "Receipt Bridge Simulator "
        let apple = isApple ? "Apple " : prefix
        let authority = isApple ? "Apple Certification Authority" : "Test Only"
        func name(_ commonName: String, _ unit: String) -> DistinguishedName {
            DistinguishedName(commonName: commonName, organizationalUnit: unit, organization: organization)
        }
        let relations = "Worldwide Developer Relations"
        root = name(isApple ? "Apple Root CA" : prefix + "Root CA", authority)
        developerRelations = name("\(apple)\(relations) Certification Authority", isApple ? "G5" : "Test Only")
        receiptLeaf = name(
            prefix + "Mac App Store and iTunes Store Receipt Signing", isApple ? "Apple \(relations)" : "Test Only")
        iTunesStore = name("\(apple)iTunes Store Certification Authority", authority)
        purchaseLeaf = name(
            isApple ? "PurchaseReceiptCertificate" : prefix + "Purchase Receipt Certificate",
            isApple ? "Apple iTunes Store" : "Test Only")
        jwsRoot = name(isApple ? "Apple Root CA - G3" : prefix + "Root CA - EC", authority)
        jwsAuthority = name(
            "\(apple)\(relations) Certification Authority", isApple ? "G6" : "Test Only EC")
        jwsLeaf = name(
            isApple ? "Prod ECC Mac App Store and iTunes Store Receipt Signing" : prefix + "ECC Receipt Signing",
            isApple ? "Apple \(relations)" : "Test Only")
    }
}
