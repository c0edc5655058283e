/// What a signing certificate must be for: the extensions that mark it and the authority above it.
///
/// Any Apple developer's certificate chains to the same root; only these markers tell a receipt's signer.
package struct SignerRole: Sendable, Hashable {
    let name: String
    /// Dotted names.
    package let leafMarker: String
    package let authorityMarker: String
    /// Of a signer's RSA key; elliptic curve keys are judged by their curve.
    let minimumRSABits: Int

    /// App Receipts, transactionReceipts since version 3, and everything the App Store Server API signs.
    package static let storeReceipt = SignerRole(
        name: "store receipt signer", leafMarker: "1.2.840.113635.100.6.11.1",
        authorityMarker: "1.2.840.113635.100.6.2.1", minimumRSABits: 2048)

    /// transactionReceipts of version 2, until 2016: the only ones that Apple signed with RSA keys of 1024 bits.
    package static let purchaseReceipt = SignerRole(
        name: "purchase receipt signer", leafMarker: "1.2.840.113635.100.6.5.1",
        authorityMarker: "1.2.840.113635.100.6.2.2", minimumRSABits: 1024)
}
