package import Cryptography

/// Who signs: the leaf, and the certificates above it, nearest first, root last.
package struct ReceiptSigner: Sendable {
    package var leaf: CertificateIdentity
    package var issuers: [CertificateIdentity]

    package init(leaf: CertificateIdentity, issuers: [CertificateIdentity]) {
        self.leaf = leaf
        self.issuers = issuers
    }

    /// Leaf first, DER.
    package var certificates: [[UInt8]] { [leaf.certificate] + issuers.map(\.certificate) }

    /// `"x5c"` signed compactly: `BASE64URL(header).BASE64URL(payload).BASE64URL(signature)`; needs a P-256 leaf.
    package func jws(payload: JSONValue) throws(CryptographyError) -> String {
        let chain = certificates.map { JSONValue.string(Base64.encode($0)) }
        let header = JSONValue.object(["alg": .string("ES256"), "x5c": .array(chain)])
        let signed = Base64.encodeURLSafe(header.bytes) + "." + Base64.encodeURLSafe(payload.bytes)
        return signed + "." + Base64.encodeURLSafe(try leaf.key.rawES256Signature(over: Array(signed.utf8)))
    }
}
