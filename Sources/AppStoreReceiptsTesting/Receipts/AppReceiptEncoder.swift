package import ReceiptBridgeCryptography

/// Encodes App Receipts: PKCS#7 SignedData as the App Store writes it, or with deviations for tests.
///
/// `ContentInfo ::= SEQUENCE { 1.2.840.113549.1.7.2, [0] EXPLICIT SignedData }`, `SignedData ::= SEQUENCE { version
/// 1, digestAlgorithms, encapContentInfo, [0] certificates, signerInfos }`. There are no signed attributes, so the
/// signature covers the content octets directly.
package struct AppReceiptEncoder: Sendable {
    /// Deviations from what the App Store writes. The defaults have none.
    package struct Options: Sendable {
        /// Digest of the signature. Receipts before June 2023 have SHA-1.
        package var digest: DigestAlgorithm = .sha256
        /// Uses BER as Xcode does: indefinite lengths, and the content as a constructed OCTET STRING.
        package var indefiniteLength = false
        /// Content bytes per chunk if ``indefiniteLength`` is set, or `nil` for one chunk.
        package var chunkSize: Int?
        /// Wraps the payload in another OCTET STRING inside that of PKCS#7.
        package var innerOctetString = false
        /// Number of identical SignerInfos.
        package var signerCount = 1
        /// Embedded certificates, or `nil` for the signer's complete chain.
        package var certificates: [[UInt8]]?
        /// Content that replaces the signed payload after signing.
        package var swappedPayload: [UInt8]?
        /// Leaves the OCTET STRING of the signature empty.
        package var stripsSignature = false
        /// Sorts the attributes as DER requires. If this is false, they keep their order.
        package var sortsAttributes = true
        /// Names the digest in the signature algorithm, as Xcode does, instead of only the key's algorithm.
        package var namesDigestInSignatureAlgorithm = false
        /// Names rsaEncryption even if the key is not an RSA key.
        package var claimsRSA = false

        package init() {}
    }

    package let signer: ReceiptSigner
    package var options: Options

    package init(signer: ReceiptSigner, options: Options = Options()) {
        self.signer = signer
        self.options = options
    }

    package func encode(_ content: AppReceiptContent) throws(CryptographyError) -> [UInt8] {
        try encode(payload: content.payload(sorted: options.sortsAttributes))
    }

    package func encode(payload: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let signed = options.innerOctetString ? DEREncoder.octetString(payload) : payload
        let signature =
            options.stripsSignature ? [] : try signer.leaf.key.signature(over: signed, digest: options.digest)
        let info = signerInfo(signature)
        let certificates = (options.certificates ?? signer.certificates).flatMap { $0 }
        var members = [
            DEREncoder.integer(1),
            DEREncoder.set([AlgorithmIdentifier.digest(options.digest)]),
            contentInfo(ObjectIdentifiers.data, contentOctets(options.swappedPayload ?? signed)),
        ]
        if !certificates.isEmpty { members.append(DEREncoder.context(0, certificates)) }
        members.append(DEREncoder.set(Array(repeating: info, count: max(options.signerCount, 0))))
        return contentInfo(ObjectIdentifiers.signedData, constructed(0x30, members.flatMap { $0 }))
    }

    /// `SignerInfo ::= SEQUENCE { version 1, issuerAndSerialNumber, digestAlgorithm, signatureAlgorithm, signature }`
    private func signerInfo(_ signature: [UInt8]) -> [UInt8] {
        let isRSA = signer.leaf.key.isRSA || options.claimsRSA
        let algorithm =
            isRSA && !options.namesDigestInSignatureAlgorithm
            ? AlgorithmIdentifier.rsaEncryption : AlgorithmIdentifier.signature(options.digest, isRSA: isRSA)
        return DEREncoder.sequence(
            DEREncoder.integer(1), signer.leaf.issuerAndSerialNumber, AlgorithmIdentifier.digest(options.digest),
            algorithm, DEREncoder.octetString(signature))
    }

    private func contentInfo(_ type: String, _ content: [UInt8]) -> [UInt8] {
        constructed(0x30, DEREncoder.objectIdentifier(type) + constructed(0xA0, content))
    }

    /// Returns the OCTET STRING with the content, in chunks if the length is indefinite.
    private func contentOctets(_ bytes: [UInt8]) -> [UInt8] {
        guard options.indefiniteLength else { return DEREncoder.octetString(bytes) }
        let size = max(options.chunkSize ?? bytes.count, 1)
        let chunks = stride(from: 0, to: bytes.count, by: size).flatMap {
            DEREncoder.octetString(Array(bytes[$0..<min($0 + size, bytes.count)]))
        }
        return constructed(0x24, chunks)
    }

    /// Returns a constructed value with a definite or an indefinite length.
    private func constructed(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        options.indefiniteLength ? [tag, 0x80] + content + [0, 0] : DEREncoder.value(tag: tag, content)
    }
}
