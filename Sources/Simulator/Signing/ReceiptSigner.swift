package import Cryptography

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

    /// Signs a compact JWS with an `x5c` header: `BASE64URL(header).BASE64URL(payload).BASE64URL(signature)`. The
    /// leaf must have a P-256 key.
    package func jws(payload: JSONValue) throws(CryptographyError) -> String {
        let chain = certificates.map { JSONValue.string(Base64.encode($0)) }
        let header = JSONValue.object(["alg": .string("ES256"), "x5c": .array(chain)])
        let signed = Base64.encodeURLSafe(header.bytes) + "." + Base64.encodeURLSafe(payload.bytes)
        return signed + "." + Base64.encodeURLSafe(try leaf.key.rawES256Signature(over: Array(signed.utf8)))
    }
}
