/// A complete chain as in the `x5c` header of a JWS: the byte ranges of its three certificates.
package struct PresentedChain: Sendable {
    /// Range of the signer's certificate, DER.
    package let leaf: Range<Int>
    /// Range of the certificate of the signer's issuer, DER.
    package let authority: Range<Int>
    /// Range of the certificate of the intermediate's issuer, DER.
    package let root: Range<Int>

    package init(leaf: Range<Int>, authority: Range<Int>, root: Range<Int>) {
        self.leaf = leaf
        self.authority = authority
        self.root = root
    }
}

extension TrustStore {
    /// Returns the key of a signer whose presented chain is valid for the role. The caller checks the time of signing
    /// against the returned window.
    ///
    /// Only the presented intermediate is tried, and the presented root must equal a pinned one byte for byte. A
    /// verified chain is cached even if the signature under it turns out to be invalid. So a client that sends a
    /// genuine chain with a forged signature costs two certificate verifications once, not with every JWS.
    ///
    /// - Throws: `malformed`, `keyRefused`, `markerMissing`, `untrusted`, `outsideValidity`.
    package func signer(
        of chain: PresentedChain, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(CryptographyError) -> VerifiedSigner {
        if let cached = completeChains.signer(of: chain, role: role, in: bytes) { return cached }
        let leaf = try Certificate(der: bytes.extracting(chain.leaf))
        guard leaf.hasExtension(role.leafMarker) else {
            throw CryptographyError(
                .markerMissing, "the signer's certificate lacks the marker extension \(role.leafMarker)")
        }
        var pinned: Certificate?
        for root in anchors.roots where bytes.holds(root.der, at: chain.root) { pinned = root }
        guard let pinned else { throw CryptographyError(.untrusted, "the last certificate is not a pinned root") }
        let authority = try Certificate(der: bytes.extracting(chain.authority))
        guard authority.subject == leaf.issuer, pinned.subject == authority.issuer else {
            throw CryptographyError(.untrusted, "the certificates do not form a chain")
        }
        let signer = try verifier.verify(leaf: leaf, authority: authority, role: role)
        completeChains.insert(signer, leaf: leaf, authority: authority, root: pinned, role: role)
        return signer
    }
}
