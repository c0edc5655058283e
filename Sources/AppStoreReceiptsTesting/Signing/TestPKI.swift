package import ReceiptBridgeCryptography
import ReceiptBridgeBase

/// The CAs and signers of a simulated App Store. They are made at run time, so that no key is
/// ever in the repository.
///
/// There are two trees, as at Apple: RSA for receipts (root, developer relations with the receipt signer, iTunes
/// Store with the signer of version 2 transactionReceipts) and EC for JWS. Methods like
/// ``issueReceiptSigner(key:changing:)`` issue further certificates for tests.
package struct TestPKI: Sendable {
    /// Options of the whole tree.
    package struct Options: Sendable {
        /// Uses exactly Apple's names, for forgeries that a verifier must reject by their key, not by their name.
        /// Otherwise the names are clearly those of a simulator.
        package var imitatesApple = false
        /// Digest of the signature of every RSA certificate.
        package var certificateDigest = DigestAlgorithm.sha256
        package var validity = Validity.wide
        /// Key size of the RSA CAs and of the receipt signer.
        package var rsaBits = 2048
        /// Key size of the signer of version 2 transactionReceipts.
        package var purchaseSignerBits = 1024

        package init() {}

        /// The options of forgeries.
        static var forgery: Options {
            var options = Options()
            options.imitatesApple = true
            return options
        }
    }

    package let options: Options
    package let root, developerRelations, receiptLeaf, iTunesStore, purchaseLeaf: CertificateIdentity
    package let jwsRoot, jwsAuthority, jwsLeaf: CertificateIdentity

    /// Makes new keys for all certificates, which takes about half a second.
    package init(_ options: Options = Options()) throws(CryptographyError) { try self.init(options, stored: [:]) }

    /// Uses the keys and certificates of an earlier run, and makes those that are not stored.
    package init(_ options: Options, stored: [CertificatePosition: StoredIdentity]) throws(CryptographyError) {
        /// Returns the stored identity at `position`, or a new one. Without an issuer, the new one is self-signed.
        func identity(
            _ position: CertificatePosition, by issuer: CertificateIdentity? = nil
        ) throws(CryptographyError) -> CertificateIdentity {
            let template = position.template(options)
            if let entry = stored[position] {
                return CertificateIdentity(
                    template: template, issuerName: issuer?.template.subject ?? template.subject,
                    key: try SigningKey(privateKeyPEM: entry.privateKeyPEM), certificate: entry.certificate)
            }
            let key = try position.makeKey(options)
            guard let issuer else { return try .selfSigned(template, key: key) }
            return try issuer.issue(template, key: key)
        }
        self.options = options
        root = try identity(.root)
        developerRelations = try identity(.developerRelations, by: root)
        receiptLeaf = try identity(.receiptLeaf, by: developerRelations)
        iTunesStore = try identity(.iTunesStore, by: root)
        purchaseLeaf = try identity(.purchaseLeaf, by: iTunesStore)
        jwsRoot = try identity(.jwsRoot)
        jwsAuthority = try identity(.jwsAuthority, by: jwsRoot)
        jwsLeaf = try identity(.jwsLeaf, by: jwsAuthority)
    }

    /// A key and its certificate, in the form that a state directory stores.
    package typealias StoredIdentity = (privateKeyPEM: String, certificate: [UInt8])

    package var identities: [(CertificatePosition, CertificateIdentity)] {
        [
            (.root, root), (.developerRelations, developerRelations), (.receiptLeaf, receiptLeaf),
            (.iTunesStore, iTunesStore), (.purchaseLeaf, purchaseLeaf), (.jwsRoot, jwsRoot),
            (.jwsAuthority, jwsAuthority), (.jwsLeaf, jwsLeaf),
        ]
    }
}

extension TestPKI {
    /// Signer of App Receipts and of transactionReceipts since version 3.
    package var receiptSigner: ReceiptSigner { ReceiptSigner(leaf: receiptLeaf, issuers: [developerRelations, root]) }
    /// Signer of version 2 transactionReceipts.
    package var purchaseSigner: ReceiptSigner { ReceiptSigner(leaf: purchaseLeaf, issuers: [iTunesStore, root]) }
    /// Signer of transactions, renewals and notifications.
    package var jwsSigner: ReceiptSigner { ReceiptSigner(leaf: jwsLeaf, issuers: [jwsAuthority, jwsRoot]) }

    /// The roots that a verifier must pin: file name and DER.
    package var roots: [(name: String, certificate: [UInt8])] {
        [("SimulatorRoot.cer", root.certificate), ("SimulatorRootEC.cer", jwsRoot.certificate)]
    }

    /// The intermediates that a verifier must have for transactionReceipts, which contain only their leaf: file name
    /// and DER.
    package var intermediates: [(name: String, certificate: [UInt8])] {
        [
            ("SimulatorDeveloperRelations.cer", developerRelations.certificate),
            ("SimulatorITunesStore.cer", iTunesStore.certificate),
        ]
    }
}

/// A signer of receipts or JWS: the leaf, and the certificates above it from its issuer to the root.
package struct ReceiptSigner: Sendable {
    package var leaf: CertificateIdentity
    package var issuers: [CertificateIdentity]

    package init(leaf: CertificateIdentity, issuers: [CertificateIdentity]) {
        self.leaf = leaf
        self.issuers = issuers
    }

    /// The certificates in DER, leaf first.
    package var certificates: [[UInt8]] { [leaf.certificate] + issuers.map(\.certificate) }

    /// Signs a JWS. The leaf must have a P-256 key.
    package func jws(payload: JSONValue) throws(CryptographyError) -> String {
        try JWSSigner(self).sign(payload.bytes)
    }
}

/// Signs compact JWS with an `x5c` header: `BASE64URL(header).BASE64URL(payload).BASE64URL(signature)`.
package struct JWSSigner: Sendable {
    private let key: SigningKey
    /// `BASE64URL(header)`, which is the same for all JWS.
    private let header: String

    /// The leaf of the signer must have a P-256 key.
    package init(_ signer: ReceiptSigner) {
        key = signer.leaf.key
        header = Base64.encodeURLSafe(JSONValue(["alg": "ES256", "x5c": signer.certificates.map(Base64.encode)]).bytes)
    }

    /// Signs a payload. Each call gives another signature, because ECDSA signatures contain a random number.
    ///
    /// - Parameter isDamaged: changes one bit of the signature.
    package func sign(_ payload: [UInt8], isDamaged: Bool = false) throws(CryptographyError) -> String {
        let text = "\(header).\(Base64.encodeURLSafe(payload))"
        var signature = try key.rawES256Signature(over: Array(text.utf8))
        if isDamaged { signature[40] ^= 1 }
        return "\(text).\(Base64.encodeURLSafe(signature))"
    }
}
