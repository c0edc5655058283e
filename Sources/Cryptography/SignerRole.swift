/// The purpose that a signing certificate must have: the marker extensions of the leaf and of the authority above it.
///
/// Any Apple developer's certificate chains to the same root, so only these markers identify a receipt signer.
package struct SignerRole: Sendable, Hashable {
    let name: String
    /// Dotted OID of the extension that the leaf must have.
    package let leafMarker: String
    /// Dotted OID of the extension that the authority must have.
    package let authorityMarker: String
    /// Minimum size of a signer's RSA key in bits. EC keys are checked by their curve.
    let minimumRSABits: Int

    /// The signer of App Receipts, of transactionReceipts since version 3, and of everything from the App Store
    /// Server API.
    package static let storeReceipt = SignerRole(
        name: "store receipt signer", leafMarker: "1.2.840.113635.100.6.11.1",
        authorityMarker: "1.2.840.113635.100.6.2.1", minimumRSABits: 2048)

    /// The signer of transactionReceipts of version 2, until 2016: the only ones that Apple signed with RSA keys of
    /// 1024 bits.
    package static let purchaseReceipt = SignerRole(
        name: "purchase receipt signer", leafMarker: "1.2.840.113635.100.6.5.1",
        authorityMarker: "1.2.840.113635.100.6.2.2", minimumRSABits: 1024)
}
