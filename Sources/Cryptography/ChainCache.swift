import ReceiptBridgeBase

/// A cache of verified complete certificate chains, keyed by the bytes of the leaf, the intermediate and the pinned
/// root.
///
/// With a cached chain, a JWS with an invalid signature costs one verification of that signature and no certificate
/// work.
///
/// The cache is bounded and evicts the oldest entry first. Only chains that end in a pinned root are inserted, so
/// clients cannot fill it with chains of their own. Variants of a genuine chain are few: an ECDSA signature `(r, s)`
/// has one other valid encoding, `(r, n − s)`, so a leaf and its intermediate make at most four entries. The root in an
/// entry is the pinned one, also if another certificate of its key was presented.
struct ChainCache: Sendable {
    struct Entry: Sendable {
        fileprivate let role: SignerRole
        fileprivate let leaf: [UInt8]
        fileprivate let authority: [UInt8]
        fileprivate let root: Certificate
        fileprivate let signer: VerifiedSigner

        fileprivate func matches(
            _ chain: PresentedChain, below root: Certificate, role: SignerRole, in bytes: borrowing Span<UInt8>
        ) -> Bool {
            role == self.role && root === self.root && bytes.holds(leaf, at: chain.leaf)
                && bytes.holds(authority, at: chain.authority)
        }
    }

    let chains: FIFOCache<Entry>

    /// Returns the signer of exactly this leaf and intermediate below this pinned root.
    func signer(
        of chain: PresentedChain, below root: Certificate, role: SignerRole, in bytes: borrowing Span<UInt8>
    ) -> VerifiedSigner? {
        for entry in chains.entries where entry.matches(chain, below: root, role: role, in: bytes) {
            return entry.signer
        }
        return nil
    }

    func insert(
        _ signer: VerifiedSigner, leaf: Certificate, authority: Certificate, root: Certificate, role: SignerRole
    ) {
        let entry = Entry(role: role, leaf: leaf.der, authority: authority.der, root: root, signer: signer)
        chains.insert(entry) {
            $0.role == role && $0.leaf == entry.leaf && $0.authority == entry.authority && $0.root === entry.root
        }
    }
}
