import Cryptography

/// Encodings of `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY OPTIONAL }`.
enum AlgorithmIdentifier {
    static func digest(_ algorithm: DigestAlgorithm) -> [UInt8] {
        let identifier =
            switch algorithm {
            case .sha1: ObjectIdentifiers.sha1
            case .sha256: ObjectIdentifiers.sha256
            case .sha384: ObjectIdentifiers.sha384
            }
        return DEREncoder.sequence(DEREncoder.objectIdentifier(identifier), DEREncoder.null)
    }

    /// Encodes a signature algorithm: RSA with NULL as parameters, ECDSA without parameters (RFC 5758).
    static func signature(_ algorithm: DigestAlgorithm, isRSA: Bool) -> [UInt8] {
        let identifier =
            switch (algorithm, isRSA) {
            case (.sha1, true): ObjectIdentifiers.sha1WithRSA
            case (.sha256, true): ObjectIdentifiers.sha256WithRSA
            case (.sha384, true): ObjectIdentifiers.sha384WithRSA
            case (.sha1, false): ObjectIdentifiers.ecdsaWithSHA1
            case (.sha256, false): ObjectIdentifiers.ecdsaWithSHA256
            case (.sha384, false): ObjectIdentifiers.ecdsaWithSHA384
            }
        let oid = DEREncoder.objectIdentifier(identifier)
        return isRSA ? DEREncoder.sequence(oid, DEREncoder.null) : DEREncoder.sequence(oid)
    }

    /// The signature algorithm in Apple's receipts, which names only the key's algorithm, not the digest.
    static let rsaEncryption = DEREncoder.sequence(
        DEREncoder.objectIdentifier(ObjectIdentifiers.rsaEncryption), DEREncoder.null)
}
