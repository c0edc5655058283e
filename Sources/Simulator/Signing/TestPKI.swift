package import Cryptography

/// The authorities and signers of a simulated App Store, made at run time: no key is ever in the repository.
///
/// Two trees, as Apple has them: RSA for receipts (root, developer relations with the receipt signer, iTunes Store with
/// the signer of v2 transactionReceipts) and EC for JWS. The members are variables and ``issueReceiptSigner(_:)`` and
/// its like make further ones, so that a test can put any wrong certificate at any place.
package struct TestPKI: Sendable {
    /// How the certificates call themselves.
    package enum Names: Sendable {
        /// Clearly a simulator's.
        case simulator
        /// Letter by letter Apple's: for forgeries, which must fail by key, not by name.
        case apple
    }

    /// What can be chosen for the whole tree.
    package struct Options: Sendable {
        package var names: Names
        /// Signature of every RSA certificate.
        package var certificateDigest: DigestAlgorithm
        package var validity: Validity
        package var rsaBits: Int
        package var purchaseSignerBits: Int

        package init(
            names: Names = .simulator, certificateDigest: DigestAlgorithm = .sha256, validity: Validity = .wide,
            rsaBits: Int = 2048, purchaseSignerBits: Int = 1024
        ) {
            self.names = names
            self.certificateDigest = certificateDigest
            self.validity = validity
            self.rsaBits = rsaBits
            self.purchaseSignerBits = purchaseSignerBits
        }
    }

    package let options: Options
    package var root: CertificateIdentity
    package var developerRelations: CertificateIdentity
    package var receiptLeaf: CertificateIdentity
    package var iTunesStore: CertificateIdentity
    package var purchaseLeaf: CertificateIdentity
    package var jwsRoot: CertificateIdentity
    package var jwsAuthority: CertificateIdentity
    package var jwsLeaf: CertificateIdentity

    /// New keys throughout: about half a second.
    package init(_ options: Options = Options()) throws(CryptographyError) {
        try self.init(options, keep: PKIStore())
    }

    /// With the keys and certificates of `keep` where it has them.
    init(_ options: Options, keep: PKIStore) throws(CryptographyError) {
        self.options = options
        let templates = PKITemplates(options)
        let rsa = KeyKind.rsa(bits: options.rsaBits)
        root = try keep.identity(.root, templates.root, rsa)
        developerRelations = try keep.identity(.developerRelations, templates.developerRelations, rsa, by: root)
        receiptLeaf = try keep.identity(.receiptLeaf, templates.receiptLeaf, rsa, by: developerRelations)
        iTunesStore = try keep.identity(.iTunesStore, templates.iTunesStore, rsa, by: root)
        purchaseLeaf = try keep.identity(
            .purchaseLeaf, templates.purchaseLeaf, .rsa(bits: options.purchaseSignerBits), by: iTunesStore)
        jwsRoot = try keep.identity(.jwsRoot, templates.jwsRoot, .p384)
        jwsAuthority = try keep.identity(.jwsAuthority, templates.jwsAuthority, .p384, by: jwsRoot)
        jwsLeaf = try keep.identity(.jwsLeaf, templates.jwsLeaf, .p256, by: jwsAuthority)
    }
}

extension TestPKI {
    /// Signs App Receipts and v3 transactionReceipts.
    package var receiptSigner: ReceiptSigner { ReceiptSigner(leaf: receiptLeaf, issuers: [developerRelations, root]) }
    /// Signs v2 transactionReceipts.
    package var purchaseSigner: ReceiptSigner { ReceiptSigner(leaf: purchaseLeaf, issuers: [iTunesStore, root]) }
    /// Signs transactions, renewals and notifications.
    package var jwsSigner: ReceiptSigner { ReceiptSigner(leaf: jwsLeaf, issuers: [jwsAuthority, jwsRoot]) }

    /// What a verifier must pin: file name and DER.
    package var roots: [(name: String, certificate: [UInt8])] {
        [("SimulatorRoot.cer", root.certificate), ("SimulatorRootEC.cer", jwsRoot.certificate)]
    }

    /// What a verifier must have at hand for transactionReceipts, which carry only their leaf.
    package var intermediates: [(name: String, certificate: [UInt8])] {
        [
            ("SimulatorDeveloperRelations.cer", developerRelations.certificate),
            ("SimulatorITunesStore.cer", iTunesStore.certificate),
        ]
    }
}
