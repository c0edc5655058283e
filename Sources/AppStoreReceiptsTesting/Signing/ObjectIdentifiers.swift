import ReceiptBridgeCryptography

/// Object identifiers in receipts, certificates and PKCS#7, in dotted form.
package enum ObjectIdentifiers {
    /// Marker of a leaf that signs App Receipts, transactionReceipts since version 3, and JWS.
    package static let receiptSigner = "1.2.840.113635.100.6.11.1"
    /// Marker of the Worldwide Developer Relations intermediates.
    package static let developerRelations = "1.2.840.113635.100.6.2.1"
    /// Marker of a leaf that signs version 2 transactionReceipts.
    package static let purchaseSigner = "1.2.840.113635.100.6.5.1"
    /// Marker of the iTunes Store intermediate.
    package static let iTunesStore = "1.2.840.113635.100.6.2.2"
    /// Marker of an iOS development certificate, which any developer gets from Apple. It must not sign receipts.
    package static let developerCertificate = "1.2.840.113635.100.6.1.2"

    static let data = "1.2.840.113549.1.7.1"
    package static let signedData = "1.2.840.113549.1.7.2"
    static let rsaEncryption = "1.2.840.113549.1.1.1"
    static let subjectKeyIdentifier = "2.5.29.14"
    static let keyUsage = "2.5.29.15"
    static let basicConstraints = "2.5.29.19"
    static let authorityKeyIdentifier = "2.5.29.35"
}

/// Encodings of `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY OPTIONAL }`.
enum AlgorithmIdentifier {
    static func digest(_ algorithm: DigestAlgorithm) -> [UInt8] {
        let identifier =
            switch algorithm {
            case .sha1: "1.3.14.3.2.26"
            case .sha256: "2.16.840.1.101.3.4.2.1"
            case .sha384: "2.16.840.1.101.3.4.2.2"
            }
        return DEREncoder.sequence(DEREncoder.objectIdentifier(identifier), DEREncoder.null)
    }

    /// Encodes a signature algorithm: RSA with NULL as parameters, ECDSA without parameters (RFC 5758).
    static func signature(_ algorithm: DigestAlgorithm, isRSA: Bool) -> [UInt8] {
        let identifier =
            switch (algorithm, isRSA) {
            case (.sha1, true): "1.2.840.113549.1.1.5"
            case (.sha256, true): "1.2.840.113549.1.1.11"
            case (.sha384, true): "1.2.840.113549.1.1.12"
            case (.sha1, false): "1.2.840.10045.4.1"
            case (.sha256, false): "1.2.840.10045.4.3.2"
            case (.sha384, false): "1.2.840.10045.4.3.3"
            }
        let oid = DEREncoder.objectIdentifier(identifier)
        return isRSA ? DEREncoder.sequence(oid, DEREncoder.null) : DEREncoder.sequence(oid)
    }

    /// The signature algorithm in Apple's receipts, which names only the key's algorithm, not the digest.
    static let rsaEncryption = DEREncoder.sequence(
        DEREncoder.objectIdentifier(ObjectIdentifiers.rsaEncryption), DEREncoder.null)
}
