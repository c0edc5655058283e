package import Cryptography

/// Writes App Receipts: PKCS#7 SignedData as the App Store does, and on request as it never would.
///
/// `ContentInfo ::= SEQUENCE { 1.2.840.113549.1.7.2, [0] EXPLICIT SignedData }`,
/// `SignedData ::= SEQUENCE { version 1, digestAlgorithms, encapContentInfo, [0] certificates, signerInfos }`; no signed
/// attributes, so the signature covers the content octets themselves.
package struct AppReceiptEncoder: Sendable {
    /// Departures from what the App Store writes; the default has none.
    package struct Options: Sendable {
        /// SHA-1 in receipts until 2023.
        package var digest: DigestAlgorithm = .sha256
        /// BER: indefinite lengths, and the content as a constructed OCTET STRING, as Xcode writes.
        package var indefiniteLength = false
        /// With ``indefiniteLength``: content bytes per chunk; nil makes one chunk.
        package var chunkSize: Int?
        /// The payload wrapped in a further OCTET STRING, inside the one that PKCS#7 has.
        package var innerOctetString = false
        /// How many equal SignerInfos.
        package var signerCount = 1
        /// What is embedded; nil is the signer's whole chain.
        package var certificates: [[UInt8]]?
        /// What the message holds instead of what was signed.
        package var swappedPayload: [UInt8]?
        /// The signature's OCTET STRING is empty.
        package var stripsSignature = false
        /// False keeps the attributes in the order in which they were given.
        package var sortsAttributes = true
        /// Names the digest in the signature algorithm, as Xcode does, instead of the key's algorithm alone.
        package var namesDigestInSignatureAlgorithm = false
        /// Names rsaEncryption whatever the key is.
        package var claimsRSA = false

        package init() {}
    }

    package let signer: ReceiptSigner
    package var options: Options

    package init(signer: ReceiptSigner, options: Options = Options()) {
        self.signer = signer
        self.options = options
    }

    /// A whole receipt.
    package func encode(_ content: AppReceiptContent) throws(CryptographyError) -> [UInt8] {
        try encode(payload: content.payload(sorted: options.sortsAttributes))
    }

    /// A receipt around any payload.
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

    private func contentOctets(_ bytes: [UInt8]) -> [UInt8] {
        guard options.indefiniteLength else { return DEREncoder.octetString(bytes) }
        let size = max(options.chunkSize ?? bytes.count, 1)
        let chunks = stride(from: 0, to: bytes.count, by: size).flatMap {
            DEREncoder.octetString(Array(bytes[$0..<min($0 + size, bytes.count)]))
        }
        return constructed(0x24, chunks)
    }

    /// A constructed value, of definite or indefinite length.
    private func constructed(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        options.indefiniteLength ? [tag, 0x80] + content + [0, 0] : DEREncoder.value(tag: tag, content)
    }
}
