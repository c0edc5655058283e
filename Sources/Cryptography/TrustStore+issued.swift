import ReceiptBridgeBase

extension TrustStore {
    /// Returns whether an intermediate below a pinned root issued a certificate with the marker of a role, whatever its
    /// key is. This tells whose a certificate is whose key is of a kind that is not supported; its key is not parsed.
    package func hasIssued(_ presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole) -> Bool {
        guard presented.leaf.count <= Certificate.maximumSize,
            let leaf = try? IssuedCertificate(at: presented.leaf, in: bytes),
            bytes.copy(leaf.signedPart).firstRange(of: role.leafMarkerContent) != nil
        else { return false }
        var authorities: [Certificate] = []
        for range in presented.authorities {
            if let authority = try? Certificate(der: bytes.extracting(range)) { authorities.append(authority) }
        }
        for authority in authorities + anchors.intermediates
        where bytes.holds(authority.subject, at: leaf.issuer) && authority.hasExtension(role.authorityMarker) {
            guard verifier.isBelowRoot(authority), let key = try? authority.publicKey() else { continue }
            for digest in [DigestAlgorithm.sha1, .sha256, .sha384] {
                let holds: Void? = try? key.verify(
                    bytes.extracting(leaf.signature), over: bytes.extracting(leaf.signedPart), digest: digest)
                if holds != nil { return true }
            }
        }
        return false
    }
}

/// The parts of a certificate that show its issuer.
private struct IssuedCertificate {
    /// Range of tbsCertificate, including tag and length.
    let signedPart: Range<Int>
    /// Range of the issuer's Name, including tag and length.
    let issuer: Range<Int>
    /// Range of the signature, without the BIT STRING's first byte.
    let signature: Range<Int>

    init(at range: Range<Int>, in bytes: borrowing Span<UInt8>) throws(BERError) {
        var outer = BERCursor(range)
        let certificate = try outer.next(BERTag.sequence, in: bytes)
        issuer = try CertificateSummary(certificate, in: bytes).issuer
        var parts = certificate.inside
        signedPart = try parts.next(BERTag.sequence, in: bytes).whole
        _ = try parts.next(BERTag.sequence, in: bytes)
        let bits = try parts.next(BERTag.bitString, in: bytes)
        guard bits.content.count > 1 else { throw BERError(.unexpectedTag, at: bits.start) }
        signature = bits.content.dropFirst()
    }
}
