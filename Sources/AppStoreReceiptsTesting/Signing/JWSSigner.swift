import ReceiptBridgeBase
package import ReceiptBridgeCryptography

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
