import ReceiptBridgeBase

/// A complete chain as in the `x5c` header of a JWS: the byte ranges of its three certificates in DER, each issued by
/// the next.
package struct PresentedChain: Sendable {
    package let leaf: Range<Int>
    package let authority: Range<Int>
    package let root: Range<Int>

    package init(leaf: Range<Int>, authority: Range<Int>, root: Range<Int>) {
        (self.leaf, self.authority, self.root) = (leaf, authority, root)
    }
}

extension TrustStore {
    /// Returns the key of a signer whose presented chain is valid for the role. The caller checks the time of signing
    /// against the returned window.
    ///
    /// Only the presented intermediate is tried, and the presented root must be a pinned one, or have the subject and
    /// the key of a pinned one: a re-issue of Apple's root. The chain is always verified from the pinned one. A
    /// verified chain is cached even if the signature under it turns out to be invalid. So a client that sends a
    /// genuine chain with a forged signature costs two certificate verifications once, not with every JWS.
    ///
    /// - Throws: `malformed`, `keyRefused`, `unsupported`, `markerMissing`, `untrusted`, `outsideValidity`.
    package func signer(
        of chain: PresentedChain, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(CryptographyError) -> VerifiedSigner {
        let pinned = pinnedRoot(at: chain.root, in: bytes)
        if let pinned, let cached = completeChains.signer(of: chain, below: pinned, role: role, in: bytes) {
            return cached
        }
        let leaf = try Certificate(der: bytes.extracting(chain.leaf))
        guard leaf.hasExtension(role.leafMarker) else {
            throw CryptographyError(
                .markerMissing, "the signer's certificate lacks the marker extension \(role.leafMarker)")
        }
        guard let pinned else { throw CryptographyError(.untrusted, "the last certificate is not a pinned root") }
        let authority = try Certificate(der: bytes.extracting(chain.authority))
        guard authority.subject == leaf.issuer, pinned.subject == authority.issuer else {
            throw CryptographyError(.untrusted, "the certificates do not form a chain")
        }
        let (signer, _) = try verifier.verify(leaf: leaf, authority: authority, role: role)
        completeChains.insert(signer, leaf: leaf, authority: authority, root: pinned, role: role)
        return signer
    }

    /// Returns the pinned root that equals the presented root, or that has the same subject and the same public key.
    /// Returns `nil` if no pinned root matches.
    ///
    /// The rest of the presented certificate, including its signature, is ignored: the chain is verified from the
    /// pinned root.
    private func pinnedRoot(at range: Range<Int>, in bytes: borrowing Span<UInt8>) -> Certificate? {
        for root in anchors.roots where bytes.holds(root.der, at: range) { return root }
        guard range.count <= Certificate.maximumSize, let summary = CertificateSummary(at: range, in: bytes) else {
            return nil
        }
        for root in anchors.roots
        where bytes.holds(root.publicKeyInfo, at: summary.publicKeyInfo.whole)
            && bytes.holds(root.subject, at: summary.subject)
        {
            return root
        }
        return nil
    }
}

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
