import ReceiptBridgeBase

/// Finds and verifies the key of a signer. The single entry point for certificates from outside.
package final class TrustStore: Sendable {
    /// The time at which the chain must have been valid.
    package enum SigningTime: Sendable, Hashable {
        /// The signed content states its time of signing, in seconds since 1970.
        case at(Int64)
        /// The signed content states only an earlier event, for example a purchase, in seconds since 1970. The
        /// signer's certificate may have been issued later, but must not have expired before it: a transactionReceipt
        /// of iOS 6 names no time of signing, and a restored purchase can be signed later. A key that is used after
        /// its certificate expired would be accepted, but only keys of Apple's.
        case notBefore(Int64)
        /// The time of signing cannot be read. Nothing is authentic by this: it only tells whose the certificate is.
        case unread

        func falls(in window: ClosedRange<Int64>) -> Bool {
            switch self {
            case .at(let seconds): window.contains(seconds)
            case .notBefore(let seconds): seconds <= window.upperBound
            case .unread: true
            }
        }
    }

    let anchors: TrustAnchors
    let verifier: ChainVerifier
    let completeChains: ChainCache
    private let cache: SignerCache
    private let authorities: AuthorityCache

    /// - Parameter cacheCapacity: maximum number of cached chains of receipts, and separately of complete chains of
    ///   JWS. Apple has used about ten in seventeen years.
    package init(anchors: TrustAnchors, cacheCapacity: Int = 64) throws(CryptographyError) {
        self.anchors = anchors
        let verifier = try ChainVerifier(roots: anchors.roots)
        self.verifier = verifier
        self.authorities = AuthorityCache(
            known: anchors.intermediates.map { verifier.verify(known: $0) }, capacity: cacheCapacity)
        self.cache = SignerCache(chains: FIFOCache(capacity: cacheCapacity))
        self.completeChains = ChainCache(chains: FIFOCache(capacity: cacheCapacity))
    }

    /// The store of Apple's own certificates, with its caches, for all of a process.
    package static func apple() throws(CryptographyError) -> TrustStore { try shared.get() }

    private static let shared = Result { () throws(CryptographyError) -> TrustStore in
        try TrustStore(anchors: .apple())
    }

    /// Returns the key of a signer if its chain is valid for the role and the time. Intermediates that came with the
    /// signature are tried first, then the known intermediates.
    ///
    /// - Throws: `malformed`, `keyRefused`, `unsupported`, `markerMissing`, `issuerUnknown`, `untrusted`,
    ///   `outsideValidity`.
    package func key(
        of presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole, time: SigningTime
    ) throws(CryptographyError) -> VerifyingKey {
        if let cached = cache.signer(for: presented, role: role, time: time, in: bytes) { return cached.key }
        let signers = try verify(presented, in: bytes, role: role)
        guard let signer = signers.first(where: { time.falls(in: $0.window) }) else {
            throw CryptographyError(.outsideValidity, "the signer's chain was not valid at the time of signing")
        }
        return signer.key
    }

    /// For measurements: cached pairs of leaf and intermediate, cached complete chains, and the chains and
    /// intermediates that OpenSSL verified or rejected since the start.
    package var cachedSigners: Int { cache.chains.entries.count }

    package var cachedChains: Int { completeChains.chains.entries.count }

    package var chainVerifications: Int { verifier.count }

    package var authorityVerifications: Int { verifier.authorityCount }

    /// Empties both caches of signers, to measure the first receipt of a signer. Verified intermediates stay.
    package func removeCachedSigners() {
        cache.chains.removeAll()
        completeChains.chains.removeAll()
    }

    /// Returns every valid chain of the leaf.
    ///
    /// Each valid chain is cached as its own entry, and invalid ones are not cached. So additional certificates in
    /// the input, which no signature covers, make no difference.
    private func verify(
        _ presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(CryptographyError) -> [VerifiedSigner] {
        if let signers = signersOfVerifiedAuthorities(presented, in: bytes, role: role) { return signers }
        let leaf = try Certificate(der: bytes.extracting(presented.leaf))
        guard leaf.hasExtension(role.leafMarker) else {
            throw CryptographyError(
                .markerMissing, "the signer's certificate lacks the marker extension \(role.leafMarker)")
        }
        guard !leaf.isSelfIssued else { throw CryptographyError(.untrusted, "the signer's certificate is self-issued") }
        var signers: [VerifiedSigner] = []
        var failure = CryptographyError(.issuerUnknown, "the certificate of the signer's issuer is not available")
        for encoding in presented.authorities {
            do throws(CryptographyError) {
                let authority = try Certificate(der: bytes.extracting(encoding))
                let (signer, verified) = try verifier.verify(leaf: leaf, authority: authority, role: role)
                if let verified { authorities.insert(verified) }
                cache.insert(signer, leaf: leaf.der, authority: authority.der, role: role)
                signers.append(signer)
            } catch {
                failure = error
            }
        }
        for authority in anchors.intermediates where leaf.namesAsIssuer(authority) {
            do throws(CryptographyError) {
                let (signer, _) = try verifier.verify(leaf: leaf, authority: authority, role: role)
                cache.insert(signer, leaf: leaf.der, authority: nil, role: role)
                signers.append(signer)
            } catch {
                if failure.code == .issuerUnknown { failure = error }
            }
        }
        guard !signers.isEmpty else { throw failure }
        return signers
    }

    /// Returns every valid chain of the leaf, and caches each as its own entry, without decoding a certificate.
    ///
    /// Returns `nil` if anything is unusual: an intermediate that was not verified before, a leaf of another form, or a
    /// signature that does not verify. OpenSSL then decides.
    private func signersOfVerifiedAuthorities(
        _ presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) -> [VerifiedSigner]? {
        guard presented.leaf.upperBound <= bytes.count,
            let leaf = LeafCertificate(at: presented.leaf, in: bytes, role: role)
        else { return nil }
        // A known intermediate often comes with the receipt too. Its signature is verified once.
        var issued: [(authority: VerifiedAuthority, isPresented: Bool)] = []
        for range in presented.authorities {
            guard let authority = authorities.authority(at: range, in: bytes) else { return nil }
            issued.append((authority, true))
        }
        for (certificate, authority) in zip(anchors.intermediates, authorities.known)
        where bytes.holds(certificate.subject, at: leaf.issuer) {
            guard let authority else { return nil }
            issued.append((authority, false))
        }
        guard !issued.isEmpty else { return nil }
        var signers: [VerifiedSigner] = []
        for (index, (authority, _)) in issued.enumerated() {
            if let earlier = issued[..<index].firstIndex(where: { $0.authority.key === authority.key }) {
                signers.append(signers[earlier])
            } else {
                guard let signer = authority.signer(leaf, in: bytes, role: role) else { return nil }
                signers.append(signer)
            }
        }
        let encoding = bytes.copy(presented.leaf)
        for (signer, (authority, isPresented)) in zip(signers, issued) {
            cache.insert(signer, leaf: encoding, authority: isPresented ? authority.der : nil, role: role)
        }
        return signers
    }
}

/// The trusted roots, and known intermediates that help to build a chain to them.
package struct TrustAnchors: Sendable {
    /// Pinned roots. A chain is accepted only if it ends in one of these.
    package let roots: [Certificate]
    /// Known intermediates, for signers that come without theirs (transactionReceipts). They are not trusted by
    /// themselves: each must be issued by a root.
    package let intermediates: [Certificate]

    package init(roots: [Certificate], intermediates: [Certificate]) {
        self.roots = roots
        self.intermediates = intermediates
    }

    /// Apple's roots and the RSA intermediates that Apple has published, from
    /// https://www.apple.com/certificateauthority/. They are parsed once in a process.
    package static func apple() throws(CryptographyError) -> TrustAnchors { try parsed.get() }

    private static let parsed = Result { () throws(CryptographyError) -> TrustAnchors in
        TrustAnchors(
            roots: try certificates(
                PackageResources.AppleIncRootCertificate_cer,
                PackageResources.AppleRootCAG2_cer,
                PackageResources.AppleRootCAG3_cer),
            intermediates: try certificates(
                PackageResources.AppleiTunesStoreCA2009_cer,
                PackageResources.WWDR2008_cer,
                PackageResources.WWDR2013_cer,
                PackageResources.WWDRG5_cer,
                PackageResources.WWDRG7_cer,
                PackageResources.WWDRG8_cer))
    }

    /// Returns a copy with additional certificates, for example test roots, or intermediates that are newer than this
    /// program.
    package func adding(roots: [Certificate], intermediates: [Certificate]) -> TrustAnchors {
        TrustAnchors(roots: self.roots + roots, intermediates: self.intermediates + intermediates)
    }

    private static func certificates(_ encodings: [UInt8]...) throws(CryptographyError) -> [Certificate] {
        var certificates: [Certificate] = []
        for encoding in encodings { certificates.append(try Certificate(der: encoding.span)) }
        return certificates
    }
}
