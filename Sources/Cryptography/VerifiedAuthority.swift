import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL

/// An intermediate certificate that OpenSSL has verified under a pinned root, with what is needed to verify the
/// certificates that it issued.
struct VerifiedAuthority: Sendable {
    /// The encoding; another certificate of the same key is another authority.
    let der: [UInt8]
    /// The subject's Name in DER.
    let subject: [UInt8]
    /// The content of subjectKeyIdentifier; `nil` if there is none.
    let keyIdentifier: [UInt8]?
    let key: VerifyingKey
    /// The period in which both the certificate and its root are valid, in seconds since 1970.
    let window: ClosedRange<Int64>
    private let roles: [SignerRole]

    /// Returns `nil` if certificates below this one need rules that only OpenSSL knows: keys other than RSA, and name
    /// constraints. The window is that of the certificate and its root.
    init?(_ certificate: Certificate, window: ClosedRange<Int64>) {
        guard let key = try? certificate.publicKey(), key.isRSA, !certificate.hasExtension("2.5.29.30") else {
            return nil
        }
        der = certificate.der
        subject = certificate.subject
        keyIdentifier = certificate.subjectKeyIdentifier
        self.key = key
        self.window = window
        roles = [.storeReceipt, .purchaseReceipt].filter { certificate.hasExtension($0.authorityMarker) }
    }

    /// Returns the signer with this certificate; `nil` if only OpenSSL can decide about it. The signer's own marker was
    /// checked by the caller.
    func signer(_ leaf: LeafCertificate, in bytes: borrowing Span<UInt8>, role: SignerRole) -> VerifiedSigner? {
        guard roles.contains(role), bytes.holds(subject, at: leaf.issuer),
            leaf.authorityKeyIdentifier.map({ range in keyIdentifier.map { bytes.holds($0, at: range) } ?? false })
                ?? true,
            case let from = max(window.lowerBound, leaf.validity.lowerBound),
            case let to = min(window.upperBound, leaf.validity.upperBound), from <= to,
            (try? key.verify(
                bytes.extracting(leaf.signature), over: bytes.extracting(leaf.signedPart), digest: leaf.digest)) != nil,
            let key = try? VerifyingKey(
                modulus: bytes.extracting(leaf.key.modulus), exponent: bytes.extracting(leaf.key.exponent)),
            key.bits >= role.minimumRSABits
        else { return nil }
        return VerifiedSigner(key: key, window: from...to)
    }
}

/// The intermediate certificates that were verified under a pinned root: the known ones from the start, and a bounded
/// number of others that came with receipts. Only chains with valid signatures and the markers of a role lead to an
/// entry, so clients cannot fill it.
struct AuthorityCache: Sendable {
    /// The known intermediates, in their order; `nil` for one that does not qualify.
    let known: [VerifiedAuthority?]
    private let others: FIFOCache<VerifiedAuthority>

    init(known: [VerifiedAuthority?], capacity: Int) {
        self.known = known
        others = FIFOCache(capacity: capacity)
    }

    /// Returns the authority with exactly this encoding; `nil` if it was not verified yet.
    func authority(at range: Range<Int>, in bytes: borrowing Span<UInt8>) -> VerifiedAuthority? {
        for case let authority? in known where bytes.holds(authority.der, at: range) { return authority }
        for authority in others.entries where bytes.holds(authority.der, at: range) { return authority }
        return nil
    }

    func insert(_ authority: VerifiedAuthority) {
        guard !known.contains(where: { $0?.der == authority.der }) else { return }
        others.insert(authority) { $0.der == authority.der }
    }
}
