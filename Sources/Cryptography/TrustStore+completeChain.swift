/// A chain that travels complete, as the header of a JWS carries it.
package struct PresentedChain: Sendable {
    /// The signer's certificate, DER.
    package let leaf: Range<Int>
    /// The certificate of the signer's issuer, DER.
    package let authority: Range<Int>
    /// The certificate of the authority's issuer, DER.
    package let root: Range<Int>

    /// Where the three stand.
    package init(leaf: Range<Int>, authority: Range<Int>, root: Range<Int>) {
        self.leaf = leaf
        self.authority = authority
        self.root = root
    }
}

extension TrustStore {
    /// The key of a signer whose chain travelled complete and holds for the role. Time is the caller's to judge: by the
    /// window that comes back.
    ///
    /// Exactly the presented authority counts, and the presented root must be a pinned one, byte for byte. A chain that
    /// held is remembered whether or not the signature under it holds: a stranger who sends a genuine chain with a false
    /// signature pays for two verifications of certificates once, not with every text.
    ///
    /// - Throws: `malformed`, `keyRefused`, `markerMissing`, `untrusted`, `outsideValidity`.
    package func signer(
        of chain: PresentedChain, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(CryptographyError) -> VerifiedSigner {
        if let known = completeChains.signer(of: chain, role: role, in: bytes) { return known }
        let leaf = try Certificate(der: bytes.extracting(chain.leaf))
        guard leaf.carries(role.leafMarker) else {
            throw CryptographyError(.markerMissing, "the signer does not carry \(role.leafMarker)")
        }
        var pinned: Certificate?
        for root in anchors.roots where bytes.holds(root.der, at: chain.root) { pinned = root }
        guard let pinned else { throw CryptographyError(.untrusted, "the last certificate is not a pinned root") }
        let authority = try Certificate(der: bytes.extracting(chain.authority))
        guard authority.subject == leaf.issuer, pinned.subject == authority.issuer else {
            throw CryptographyError(.untrusted, "the certificates do not follow one another")
        }
        let signer = try verifier.verify(leaf: leaf, authority: authority, role: role)
        completeChains.insert(signer, leaf: leaf, authority: authority, root: pinned, role: role)
        return signer
    }
}
