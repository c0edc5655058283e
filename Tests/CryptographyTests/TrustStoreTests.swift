import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Chain verification of signers")
struct TrustStoreTests {
    static let signed = TrustStore.SigningTime.at(MintedReceipts.creation.seconds)

    /// Looks up the key of a receipt signer that comes with its issuer but without its root.
    private func key(
        _ signer: ReceiptSigner, in store: TrustStore, role: SignerRole = .storeReceipt,
        time: TrustStore.SigningTime = signed, presented: [[UInt8]]? = nil
    ) throws -> VerifyingKey {
        try key(
            leaf: signer.leaf.certificate, authorities: presented ?? signer.issuers.prefix(1).map(\.certificate),
            in: store, role: role, time: time)
    }

    /// Concatenates the certificates, as a container does, and looks up the key.
    private func key(
        leaf: [UInt8], authorities: [[UInt8]], in store: TrustStore, role: SignerRole, time: TrustStore.SigningTime
    ) throws -> VerifyingKey {
        var bytes = leaf
        var ranges: [Range<Int>] = []
        for authority in authorities {
            ranges.append(bytes.count..<bytes.count + authority.count)
            bytes += authority
        }
        return try store.key(
            of: PresentedSigner(leaf: 0..<leaf.count, authorities: ranges), in: bytes.span, role: role, time: time)
    }

    private func store(knowsAuthorities: Bool = false, cacheCapacity: Int = 64) throws -> TrustStore {
        try TrustStore(
            anchors: MintedReceipts.anchors(knowsAuthorities: knowsAuthorities), cacheCapacity: cacheCapacity)
    }

    @Test("A chain of leaf, intermediate and pinned root gives the leaf's key")
    func good() throws {
        let pki = try MintedReceipts.pki
        let store = try store()
        let message = Array("signed".utf8)
        for (signer, role) in [(pki.receiptSigner, SignerRole.storeReceipt), (pki.purchaseSigner, .purchaseReceipt)] {
            let signature = try signer.leaf.key.signature(over: message, digest: .sha1)
            for _ in 0..<2 {
                try key(signer, in: store, role: role).verify(signature.span, over: message.span, digest: .sha1)
            }
        }
        #expect(store.cachedSigners == 2)
    }

    struct Forgery: Sendable, CustomTestStringConvertible {
        let name: String
        let code: CryptographyError.Code
        let make: @Sendable (TestPKI) throws -> ReceiptSigner

        init(
            _ name: String, _ code: CryptographyError.Code,
            _ make: @escaping @Sendable (TestPKI) throws -> ReceiptSigner
        ) {
            (self.name, self.code, self.make) = (name, code, make)
        }

        var testDescription: String { name }
    }

    static let forgeries: [Forgery] = [
        Forgery("a foreign root with Apple's names", .untrusted) { _ in try MintedReceipts.foreign.receiptSigner },
        Forgery("a foreign tree below the same names as the pinned root's", .untrusted) { pki in
            let foreign = try MintedReceipts.foreign
            let root = try CertificateIdentity.selfSigned(pki.root.template, key: foreign.root.key)
            let authority = try root.issue(pki.developerRelations.template, key: foreign.developerRelations.key)
            let leaf = try authority.issue(pki.receiptLeaf.template, key: foreign.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [authority, root])
        },
        Forgery("a leaf signed by another key than its issuer's", .untrusted) { pki in
            let forger = CertificateIdentity(
                template: pki.developerRelations.template, issuerName: pki.root.template.subject,
                key: try MintedReceipts.foreign.root.key, certificate: [])
            let leaf = try forger.issue(pki.receiptLeaf.template, key: pki.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [pki.developerRelations, pki.root])
        },
        Forgery("a developer's certificate, which lacks the receipt marker", .markerMissing) {
            try $0.developerCertificate()
        },
        Forgery("an intermediate without its marker", .markerMissing) { try $0.signerBelowUnmarkedAuthority() },
        Forgery("an intermediate with the other intermediate's marker", .markerMissing) {
            try $0.issueReceiptSignerBelowAuthority { $0.markers = [ObjectIdentifiers.iTunesStore] }
        },
        Forgery("an issuer that is not a CA", .untrusted) { try $0.signerBelowNonAuthority() },
        Forgery("a leaf used as an intermediate", .untrusted) { pki in
            var template = pki.receiptLeaf.template
            template.subject.commonName = "Below a leaf"
            let leaf = try pki.receiptLeaf.issue(template, key: try MintedReceipts.foreign.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [pki.receiptLeaf, pki.developerRelations, pki.root])
        },
        Forgery("a leaf with an intermediate's marker, used as one", .untrusted) { pki in
            let middle = try pki.issueReceiptSigner { $0.markers.append(ObjectIdentifiers.developerRelations) }.leaf
            var template = pki.receiptLeaf.template
            template.subject.commonName = "Below a leaf"
            let leaf = try middle.issue(template, key: pki.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [middle, pki.developerRelations, pki.root])
        },
        Forgery("a chain of four", .untrusted) { pki in
            var template = pki.developerRelations.template
            template.subject.commonName = "One more authority"
            let authority = try pki.developerRelations.issue(template, key: pki.developerRelations.key)
            let leaf = try authority.issue(pki.receiptLeaf.template, key: pki.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [authority, pki.developerRelations, pki.root])
        },
        Forgery("a leaf issued directly by the root", .markerMissing) { pki in
            let leaf = try pki.root.issue(pki.receiptLeaf.template, key: pki.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [pki.root])
        },
        Forgery("a self-signed leaf", .untrusted) { pki in
            let leaf = try CertificateIdentity.selfSigned(pki.receiptLeaf.template, key: pki.receiptLeaf.key)
            return ReceiptSigner(leaf: leaf, issuers: [leaf])
        },
        Forgery("a key of 512 bits", .keyRefused) { pki in
            // OpenSSL generates no keys this short. The certificate alone is enough.
            try signer(below: pki, publicKeyInfo: PublicKeyPolicyTests.rsa(bits: 512))
        },
        Forgery("an unknown critical extension", .untrusted) { pki in
            try signer(
                below: pki, publicKeyInfo: pki.receiptLeaf.key.publicKeyInfo,
                extensions: [CertificateBlueprint.entry("1.2.840.113635.100.6.99", critical: true)])
        },
        Forgery("signed with MD5", .unsupported) { pki in
            // Only the OIDs of the algorithm are changed: they are checked before the signature.
            let sha256 = DEREncoder.objectIdentifier("1.2.840.113549.1.1.11")
            let md5 = DEREncoder.objectIdentifier("1.2.840.113549.1.1.4")
            let certificate = Array(pki.receiptLeaf.certificate.replacing(sha256, with: md5))
            let leaf = CertificateIdentity(
                template: pki.receiptLeaf.template, issuerName: pki.receiptLeaf.issuerName, key: pki.receiptLeaf.key,
                certificate: certificate)
            return ReceiptSigner(leaf: leaf, issuers: [pki.developerRelations])
        },
    ]

    /// A leaf with the receipt marker and further extensions, issued by the valid intermediate.
    private static func signer(
        below pki: TestPKI, publicKeyInfo: [UInt8], extensions: [[UInt8]] = []
    ) throws -> ReceiptSigner {
        let blueprint = CertificateBlueprint(
            issuer: pki.developerRelations.template.subject, publicKeyInfo: publicKeyInfo,
            extensions: [CertificateBlueprint.entry(ObjectIdentifiers.receiptSigner)] + extensions)
        let leaf = CertificateIdentity(
            template: pki.receiptLeaf.template, issuerName: pki.developerRelations.template.subject,
            key: pki.receiptLeaf.key, certificate: try blueprint.der(signedBy: pki.developerRelations.key))
        return ReceiptSigner(leaf: leaf, issuers: [pki.developerRelations])
    }

    // T3, T4
    @Test("A chain with one defect is refused and not cached", arguments: forgeries)
    func refuses(forgery: Forgery) throws {
        let signer = try forgery.make(MintedReceipts.pki)
        let store = try store()
        for _ in 0..<2 {
            #expect(throwsCode(forgery.code, forgery.name) { _ = try key(signer, in: store) })
            #expect(store.cachedSigners == 0)
        }
        // The result is the same if all issuers come with the leaf and the intermediates are known.
        let informed = try self.store(knowsAuthorities: true)
        #expect(throws: CryptographyError.self) {
            _ = try key(signer, in: informed, presented: signer.issuers.map(\.certificate))
        }
        #expect(informed.cachedSigners == 0)
    }

    @Test("A chain with a leaf from a blueprint is valid if it has no defect")
    func blueprint() throws {
        let pki = try MintedReceipts.pki
        let signer = try Self.signer(below: pki, publicKeyInfo: pki.receiptLeaf.key.publicKeyInfo)
        _ = try key(signer, in: store())
    }

    // T3
    @Test("RSA keys of signers need 2048 bits, and 1024 only for transactionReceipts of version 2")
    func keySizes() throws {
        let pki = try MintedReceipts.pki
        let short = try pki.issueReceiptSigner(key: try .rsa(bits: 1024))
        let store = try store()
        #expect(throwsCode(.keyRefused, "1024") { _ = try key(short, in: store) })
        #expect(store.cachedSigners == 0)
        _ = try key(pki.issueReceiptSigner(key: try .rsa(bits: 2048)), in: store)
        // This key has 1024 bits, as Apple's had.
        _ = try key(pki.purchaseSigner, in: store, role: .purchaseReceipt)
    }

    // T5
    @Test("A chain with an unknown intermediate below a pinned root is valid")
    func rotation() throws {
        let signer = try MintedReceipts.pki.issueReceiptSignerBelowAuthority {
            $0.subject.organizationalUnit = "G99"
        }
        let store = try store()
        _ = try key(signer, in: store)
        #expect(store.cachedSigners == 1)
    }

    @Test("A chain without its intermediate is `issuerUnknown`, unless the intermediate is known")
    func issuerUnknown() throws {
        let signer = try MintedReceipts.pki.receiptSigner
        let store = try store()
        #expect(throwsCode(.issuerUnknown, "no authority") { _ = try key(signer, in: store, presented: []) })
        #expect(store.cachedSigners == 0)
        _ = try key(signer, in: self.store(knowsAuthorities: true), presented: [])
    }

    @Test("Below an intermediate that was verified before, no certificate is decoded by OpenSSL")
    func verifiedAuthorities() throws {
        let pki = try MintedReceipts.pki
        let message = Array("signed".utf8)
        for knowsAuthorities in [true, false] {
            let store = try store(knowsAuthorities: knowsAuthorities)
            for index in 0..<3 {
                let signer = try pki.issueReceiptSigner { $0.subject.commonName = "Signer \(index)" }
                let signature = try signer.leaf.key.signature(over: message, digest: .sha256)
                let found = try key(signer, in: store)
                try found.verify(signature.span, over: message.span, digest: .sha256)
                #expect(found.isRSA && store.chainVerifications == (knowsAuthorities ? 0 : 1))
            }
        }
    }

    @Test("A changed byte of a leaf below a verified intermediate is never accepted")
    func changedLeaf() throws {
        let pki = try MintedReceipts.pki
        let store = try store(knowsAuthorities: true)
        let genuine = pki.receiptSigner.leaf.certificate
        for position in genuine.indices {
            var leaf = genuine
            leaf[position] ^= 0x01
            #expect(throws: CryptographyError.self, "byte \(position)") {
                _ = try key(
                    leaf: leaf, authorities: [pki.developerRelations.certificate], in: store, role: .storeReceipt,
                    time: Self.signed)
            }
        }
        #expect(store.cachedSigners == 0)
    }

    @Test("A chain is valid for one role only")
    func roles() throws {
        let pki = try MintedReceipts.pki
        let store = try store(knowsAuthorities: true)
        _ = try key(pki.receiptSigner, in: store)
        #expect(
            throwsCode(.markerMissing, "role") { _ = try key(pki.receiptSigner, in: store, role: .purchaseReceipt) })
        #expect(throwsCode(.markerMissing, "role") { _ = try key(pki.purchaseSigner, in: store) })
    }

    static let times: [(time: TrustStore.SigningTime, holds: Bool)] = [
        (.at(Validity.past.from.seconds), true), (.at(Validity.past.from.seconds - 1), false),
        (.at(Validity.past.to.seconds), true), (.at(Validity.past.to.seconds + 1), false),
        (.at(.min), false), (.at(.max), false), (.at(MintedReceipts.creation.seconds), false),
        (.notBefore(Validity.past.from.seconds - 1), true), (.notBefore(.min), true), (.notBefore(0), true),
        (.notBefore(Validity.past.to.seconds), true), (.notBefore(Validity.past.to.seconds + 1), false),
        (.notBefore(.max), false),
    ]

    // T6
    @Test("Validity is checked at the time of signing, not at the current time", arguments: times)
    func validity(time: TrustStore.SigningTime, holds: Bool) throws {
        let signer = try MintedReceipts.pki.expiredSigner()
        let store = try store()
        for _ in 0..<2 {
            if holds {
                _ = try key(signer, in: store, time: time)
            } else {
                #expect(throwsCode(.outsideValidity, "\(time)") { _ = try key(signer, in: store, time: time) })
            }
        }
    }

    @Test("A chain is refused if the intermediate was not valid at the time of signing, even if the leaf was")
    func authorityValidity() throws {
        let signer = try MintedReceipts.pki.issueReceiptSignerBelowAuthority { $0.validity = .past }
        let store = try store()
        #expect(throwsCode(.outsideValidity, "authority") { _ = try key(signer, in: store) })
        _ = try key(signer, in: store, time: .at(Validity.past.to.seconds))
    }

    @Test("A chain whose validity periods do not overlap is refused")
    func disjoint() throws {
        let pki = try MintedReceipts.pki
        let signer = try pki.issueReceiptSignerBelowAuthority {
            $0.validity = Validity(from: Timestamp(seconds: 0), to: Timestamp(seconds: 86_400))
        }
        #expect(throwsCode(.outsideValidity, "disjoint") { _ = try key(signer, in: store()) })
    }

    @Test("A chain whose intermediate was renewed with the same key is valid in both periods")
    func crossed() throws {
        let pki = try MintedReceipts.pki
        var template = pki.developerRelations.template
        template.validity = .past
        let old = try pki.root.issue(template, key: pki.developerRelations.key)
        let store = try store()
        let both = [old.certificate, pki.developerRelations.certificate]
        for time in [Validity.past.to.seconds, MintedReceipts.creation.seconds] {
            _ = try key(pki.receiptSigner, in: store, time: .at(time), presented: both)
            _ = try key(pki.receiptSigner, in: store, time: .at(time), presented: both.reversed())
        }
        #expect(store.cachedSigners == 2)
    }

    @Test("The cache of signers is bounded")
    func bounded() throws {
        let pki = try MintedReceipts.pki
        let store = try store(cacheCapacity: 3)
        for index in 0..<8 {
            let signer = try pki.issueReceiptSigner { $0.subject.commonName = "Signer \(index)" }
            _ = try key(signer, in: store)
            #expect(store.cachedSigners == min(index + 1, 3))
        }
        store.removeCachedSigners()
        #expect(store.cachedSigners == 0)
    }

    @Test("A signer is cached once, whatever other certificates come with it")
    func crowding() throws {
        let pki = try MintedReceipts.pki
        let store = try store(cacheCapacity: 4)
        for index in 0..<12 {
            let stranger = try CertificateBlueprint(
                issuer: .init(commonName: "Stranger \(index)", organization: "Test"),
                subject: pki.developerRelations.template.subject, publicKeyInfo: pki.root.key.publicKeyInfo
            ).der()
            _ = try key(
                pki.receiptSigner, in: store, presented: [stranger, pki.developerRelations.certificate, [], stranger])
        }
        #expect(store.cachedSigners == 1)
    }

    @Test("Only the first four intermediates are tried, and none that is too large")
    func manyAuthorities() throws {
        let pki = try MintedReceipts.pki
        let good = pki.developerRelations.certificate
        let junk: [UInt8] = [0x30, 0]
        let store = try store()
        _ = try key(pki.receiptSigner, in: store, presented: [junk, junk, junk, good])
        store.removeCachedSigners()
        #expect(
            throwsCode(.malformed, "the fifth") {
                _ = try key(pki.receiptSigner, in: store, presented: [junk, junk, junk, junk, good])
            })
        let large = [UInt8](repeating: 0x30, count: 16_385)
        _ = try key(pki.receiptSigner, in: store, presented: [large, good])
        #expect(
            throwsCode(.malformed, "large leaf") {
                _ = try key(leaf: large, authorities: [good], in: store, role: .storeReceipt, time: Self.signed)
            })
    }

    @Test("Apple's three roots and six intermediates are built in, and OpenSSL on this system verifies them")
    func selfTest() throws {
        let anchors = try TrustAnchors.apple()
        #expect(anchors.roots.count == 3)
        #expect(anchors.intermediates.count == 6)
        try SelfTest.run()
    }
}
