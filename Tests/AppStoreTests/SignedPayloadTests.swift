import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import Testing

@Suite("Signed payload verification")
struct SignedPayloadTests {
    /// Signs a text with any header, claims and key.
    private func sign(
        _ claims: JSONValue = transaction("1"), alg: String? = "ES256", x5c: [JSONValue]? = nil, key: SigningKey? = nil,
        extra: [JSONValue.Member] = [], signature: [UInt8]? = nil
    ) throws -> String {
        let pki = try Shared.pki
        var header = extra
        if let alg { header.append(.init("alg", .string(alg))) }
        header.append(.init("x5c", .array(try x5c ?? chain())))
        let signed = Base64.encodeURLSafe(JSONValue.object(header).bytes) + "." + Base64.encodeURLSafe(claims.bytes)
        let raw = try signature ?? (key ?? pki.jwsLeaf.key).rawES256Signature(over: Array(signed.utf8))
        return signed + "." + Base64.encodeURLSafe(raw)
    }

    private func chain(_ signer: ReceiptSigner? = nil) throws -> [JSONValue] {
        try (signer ?? Shared.pki.jwsSigner).certificates.map { .string(Base64.encode($0)) }
    }

    private func code(
        _ text: String, expecting: PayloadRequirements = .any, now: Timestamp = Shared.noon
    ) throws -> SignedPayloadError.Code? {
        let verifier = try Shared.verifier()
        do {
            _ = try verifier.verify(text, as: TransactionPayload.self, expecting: expecting, now: now)
            return nil
        } catch {
            return error.code
        }
    }

    // T17
    @Test("A valid JWS is accepted, and accepted again from the header cache")
    func good() throws {
        let verifier = try Shared.verifier()
        let text = try sign(extra: [.init("kid", .string("x")), .init("jku", .string("https://example.com/keys"))])
        for _ in 0..<3 {
            let signed: Signed<TransactionPayload> = try verifier.verify(text, now: Shared.noon)
            #expect(signed.payload.transactionId == "1")
            #expect(signed.payload.claims == transaction("1").bytes)
        }
    }

    // T13
    @Test("A genuine chain with bad signatures is verified once, not with every JWS")
    func falseSignatures() throws {
        let root = try Certificate(der: Shared.pki.jwsRoot.certificate.span)
        let trust = try TrustStore(anchors: TrustAnchors(roots: [root], intermediates: []))
        let verifier = SignedPayloadVerifier(trust: trust)
        func code(_ text: String) -> SignedPayloadError.Code? {
            do throws(SignedPayloadError) {
                _ = try verifier.verify(text, as: TransactionPayload.self, now: Shared.noon)
                return nil
            } catch {
                return error.code
            }
        }
        let stranger = try SigningKey.p256()
        for number in 0..<20 {
            // Each text has a different header, so the header cache cannot help.
            let text = try sign(key: stranger, extra: [.init("kid", .string("\(number)"))])
            #expect(code(text) == .badSignature)
        }
        #expect(trust.chainVerifications == 1 && trust.cachedChains == 1)
        #expect(try code(sign()) == nil)
        #expect(trust.chainVerifications == 1)
        // A chain that fails verification is verified again each time and not cached.
        let foreign = try Shared.foreign
        let chain = try chain()
        let mixed = try self.chain(foreign.jwsSigner).prefix(2) + chain.suffix(1)
        for _ in 0..<2 {
            #expect(try code(sign(x5c: Array(mixed), key: foreign.jwsLeaf.key)) == .untrustedChain)
        }
        #expect(trust.cachedChains == 1)
        // A cached leaf does not make another intermediate or root valid.
        let leaf = try self.chain()[0]
        #expect(try code(sign(x5c: [leaf, mixed[1], chain[2]])) == .untrustedChain)
        #expect(try code(sign(x5c: [leaf, chain[1], mixed[0]])) == .untrustedChain)
        #expect(trust.cachedChains == 1)
    }

    // T13
    @Test("The cache of verified chains is bounded")
    func rememberedChains() throws {
        let pki = try Shared.pki
        let root = try Certificate(der: pki.jwsRoot.certificate.span)
        let trust = try TrustStore(anchors: TrustAnchors(roots: [root], intermediates: []), cacheCapacity: 3)
        let verifier = SignedPayloadVerifier(trust: trust)
        for number in 0..<6 {
            let leaf = try pki.jwsAuthority.issue(pki.jwsLeaf.template, key: pki.jwsLeaf.key)
            let signer = ReceiptSigner(leaf: leaf, issuers: [pki.jwsAuthority, pki.jwsRoot])
            _ = try verifier.verify(sign(x5c: chain(signer)), as: TransactionPayload.self, now: Shared.noon)
            #expect(trust.cachedChains == min(number + 1, 3))
        }
        trust.removeCachedSigners()
        #expect(trust.cachedChains == 0)
    }

    /// JWS whose header, certificates or key are not those of the App Store, and the code of each.
    private func defects() throws -> [(String, String, SignedPayloadError.Code)] {
        let (pki, foreign) = (try Shared.pki, try Shared.foreign)
        let (chain, own, ownKey) = (try chain(), try chain(foreign.jwsSigner), foreign.jwsLeaf.key)
        let junk = (0..<3).map { _ in JSONValue.string(Base64.encode([UInt8](repeating: 0x78, count: 50))) }
        let crit = [JSONValue.Member("crit", .array([.string("exp")]))]
        func issued(_ leaf: CertificateIdentity, by tree: TestPKI) throws -> [JSONValue] {
            try self.chain(ReceiptSigner(leaf: leaf, issuers: [tree.jwsAuthority, tree.jwsRoot]))
        }
        var template = pki.jwsLeaf.template
        template.markers = ["1.2.840.113635.100.6.1.2"]
        let developer = try pki.jwsAuthority.issue(template, key: try .p256())
        let large = try pki.jwsAuthority.issue(pki.jwsLeaf.template, key: try .p384())
        let ownLarge = try foreign.jwsAuthority.issue(foreign.jwsLeaf.template, key: try .p384())
        let algorithms = try ([nil, "none", "None", "HS256", "hs512"] as [String?]).map { alg in
            ("alg \(alg ?? "-")", try sign(alg: alg), SignedPayloadError.Code.unsigned)
        }
        // The App Store may use these in the future, so they are not judged.
        let newAlgorithms = try (["ES384", "RS256", "es256", "X"] as [String]).map {
            ("alg \($0)", try sign(alg: $0), SignedPayloadError.Code.unsupportedAlgorithm)
        }
        return try algorithms + newAlgorithms + [
            ("own chain", sign(x5c: own, key: ownKey), .untrustedChain),
            ("own chain, RS256", sign(alg: "RS256", x5c: own, key: ownKey), .untrustedChain),
            ("own chain, ES512", sign(alg: "ES512", x5c: own, key: ownKey), .untrustedChain),
            ("own chain, crit", sign(x5c: own, key: ownKey, extra: crit), .untrustedChain),
            ("own chain of 2", sign(x5c: Array(own.prefix(2)), key: ownKey), .untrustedChain),
            ("own chain of 4", sign(x5c: own + [own[2]], key: ownKey), .untrustedChain),
            ("own chain, P-384", sign(x5c: issued(ownLarge, by: foreign)), .untrustedChain),
            ("own leaf and the genuine chain", sign(alg: "X", x5c: own.prefix(1) + chain), .untrustedChain),
            ("own chain, genuine root", sign(x5c: [own[0], own[1], chain[2]], key: ownKey), .untrustedChain),
            ("genuine chain, own root", sign(x5c: [chain[0], chain[1], own[2]]), .untrustedChain),
            ("no certificates", sign(x5c: []), .x5c), ("no certificates, alg X", sign(alg: "X", x5c: []), .x5c),
            ("junk certificates, alg X", sign(alg: "X", x5c: junk), .x5c),
            ("genuine chain, crit", sign(extra: crit), .unsupportedForm),
            ("genuine chain, crit, another key", sign(key: ownKey, extra: crit), .badSignature),
            ("genuine chain of 2", sign(x5c: Array(chain.prefix(2))), .unsupportedForm),
            ("genuine chain of 2, another key", sign(x5c: Array(chain.prefix(2)), key: ownKey), .badSignature),
            ("genuine chain of 4", sign(x5c: chain + [chain[2]]), .unsupportedForm),
            // The intermediate of a single certificate is not known.
            ("the leaf alone", sign(x5c: [chain[0]]), .untrustedChain),
            ("the root alone", sign(x5c: [chain[2]]), .xcode),
            ("a number for a root", sign(x5c: [chain[0], chain[1], .number(3)]), .malformed),
            ("no base64 for a root", sign(x5c: [chain[0], chain[1], .string("-_-_")]), .x5c),
            ("no certificate for a root", sign(x5c: [chain[0], chain[1], .string("AAAA")]), .untrustedChain),
            ("no certificate for an intermediate", sign(x5c: [chain[0], .string("AAAA"), chain[2]]), .x5c),
            ("the intermediate first", sign(x5c: [chain[1], chain[0], chain[2]]), .notAReceiptSigner),
            ("the root second", sign(x5c: [chain[0], chain[2], chain[1]]), .untrustedChain),
            // A developer's certificate of the right intermediate, without the App Store's marker.
            ("a developer", sign(x5c: issued(developer, by: pki), key: developer.key), .notAReceiptSigner),
            // The right markers and root, but a key that is not P-256.
            ("genuine chain, P-384", sign(x5c: issued(large, by: pki)), .unsupportedAlgorithm),
        ]
    }

    // T17
    @Test("What certificates of the App Store do not vouch for is forged; an unknown form that they sign is not judged")
    func forms() throws {
        for (name, text, expected) in try defects() { #expect(try code(text) == expected, "\(name)") }
    }

    // T17
    // T13.
    @Test("JWS with a new leaf each, none of them genuine, cost one verification of the intermediate together")
    func falseLeaves() throws {
        let pki = try Shared.pki
        let root = try Certificate(der: pki.jwsRoot.certificate.span)
        let trust = try TrustStore(anchors: TrustAnchors(roots: [root], intermediates: []))
        let verifier = SignedPayloadVerifier(trust: trust)
        for number in UInt8(0)..<20 {
            // The last byte belongs to the signature of the certificate.
            var leaf = pki.jwsSigner.certificates[0]
            leaf[leaf.count - 1] ^= number
            let text = try sign(x5c: [.string(Base64.encode(leaf))] + chain().suffix(2))
            let isAccepted = (try? verifier.verify(text, as: TransactionPayload.self, now: Shared.noon)) != nil
            #expect(isAccepted == (number == 0))
        }
        #expect(trust.chainVerifications == 20 && trust.authorityVerifications == 1 && trust.cachedChains == 1)
    }

    // T17
    @Test("A root with the subject and the key of a pinned root counts as it, and nothing less does")
    func reissuedRoot() throws {
        let pki = try Shared.pki
        let trust = try TrustStore(
            anchors: TrustAnchors(roots: [try Certificate(der: pki.jwsRoot.certificate.span)], intermediates: []))
        let verifier = SignedPayloadVerifier(trust: trust)
        func code(_ root: [UInt8]) throws -> SignedPayloadError.Code? {
            let chain = try chain()
            let text = try sign(x5c: [chain[0], chain[1], .string(Base64.encode(root))])
            do throws(SignedPayloadError) {
                _ = try verifier.verify(text, as: TransactionPayload.self, now: Shared.noon)
                return nil
            } catch {
                return error.code
            }
        }
        var template = pki.jwsRoot.template
        template.validity = .past
        let reissued = try CertificateIdentity.selfSigned(template, key: pki.jwsRoot.key).certificate
        #expect(reissued != pki.jwsRoot.certificate)
        // The signature in it is not used, so a damaged one makes no difference, and the chain is verified once.
        let damaged = Array(reissued.dropLast()) + [reissued[reissued.count - 1] ^ 1]
        for root in [reissued, damaged, pki.jwsRoot.certificate, reissued] {
            #expect(try code(root) == nil)
        }
        #expect(trust.chainVerifications == 1 && trust.cachedChains == 1)
        let otherKey = try CertificateIdentity.selfSigned(pki.jwsRoot.template, key: .p384()).certificate
        template.subject.commonName += " 2"
        let otherName = try CertificateIdentity.selfSigned(template, key: pki.jwsRoot.key).certificate
        let longer = reissued + [0]
        let large = DEREncoder.sequence(reissued, [UInt8](repeating: 5, count: Certificate.maximumSize))
        for root in [otherKey, otherName, longer, large, Array(reissued.dropLast(3)), [], [0x30]] {
            #expect(try code(root) == .untrustedChain)
        }
        #expect(trust.cachedChains == 1)
    }

    @Test("Certificates are checked for the time of signing, or for now if there is none")
    func times() throws {
        let pki = try Shared.pki
        var template = pki.jwsLeaf.template
        template.validity = .past
        let leaf = try pki.jwsAuthority.issue(template, key: pki.jwsLeaf.key)
        let x5c = try chain(ReceiptSigner(leaf: leaf, issuers: [pki.jwsAuthority, pki.jwsRoot]))
        func claims(_ date: JSONValue?) -> JSONValue { .object(["transactionId": .string("1"), "signedDate": date]) }
        let inside = Timestamp(seconds: 1_300_000_000)
        #expect(try code(try sign(claims(.number(inside.milliseconds)), x5c: x5c)) == nil)
        #expect(
            try code(try sign(claims(.number(Shared.noon.milliseconds)), x5c: x5c), now: inside) == .outsideValidity)
        #expect(try code(try sign(claims(nil), x5c: x5c), now: inside) == nil)
        #expect(try code(try sign(claims(nil), x5c: x5c)) == .outsideValidity)
    }

    @Test("A JWS with exchanged or extra segments is rejected")
    func tampering() throws {
        let text = try sign(transaction("1"))
        let other = try sign(transaction("2"))
        let parts = text.split(separator: ".").map(String.init)
        let others = other.split(separator: ".").map(String.init)
        #expect(try code("\(parts[0]).\(others[1]).\(parts[2])") == .badSignature)
        #expect(try code("\(parts[0]).\(parts[1]).\(others[2])") == .badSignature)
        // What is not a compact JWS is not called forged, because it says nothing about the signature.
        for wrong in [
            "", ".", "..", "a.b", "\(text).", "\(text).x", ".\(parts[1]).\(parts[2])", "\(parts[0])..\(parts[2])",
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1]).\(parts[2])=",
            String(repeating: "A", count: (1 << 20) + 1),
        ] {
            #expect(try code(wrong) == .malformed, "\(wrong.prefix(20))")
        }
        #expect(try code("e30.\(parts[1]).\(parts[2])A") == .unsigned)
    }

    @Test("A truncated JWS, or one with a changed byte, is rejected and does not trap")
    func mutations() throws {
        let verifier = try Shared.verifier()
        let text = Array(try sign().utf8)
        func holds(_ bytes: [UInt8]) -> Bool {
            let text = String(decoding: bytes, as: UTF8.self)
            return (try? verifier.verify(text, as: TransactionPayload.self, now: Shared.noon)) != nil
        }
        #expect(holds(text))
        for end in stride(from: 0, to: text.count, by: 7) { #expect(!holds(Array(text[..<end]))) }
        for place in stride(from: 0, to: text.count, by: 11) {
            var changed = text
            changed[place] ^= 0x01
            #expect(!holds(changed), "byte \(place)")
        }
    }

    @Test("A signature outside the valid range is rejected")
    func signatures() throws {
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        let one = [UInt8](repeating: 0, count: 31) + [1], zero = [UInt8](repeating: 0, count: 32)
        let all = [UInt8](repeating: 0xFF, count: 32)
        for raw in [
            zero + zero, zero + one, one + zero, order + one, one + order, all + all, one + one,
            Array((one + one).dropLast()), one + one + [0], [0],
        ] {
            #expect(try code(try sign(signature: raw)) == .badSignature)
        }
        let der = try Shared.pki.jwsLeaf.key.signature(over: [1], digest: .sha256)
        #expect(try code(try sign(signature: der)) == .badSignature)
    }

    // T17
    @Test("A payload of another app or environment has its own error code")
    func expectations() throws {
        let text = try sign(transaction("1"))
        let bare = try sign(.object(["transactionId": .string("1")]))
        func expect(_ bundleId: String? = nil, _ environment: AppStoreEnvironment? = nil, must: Bool = false)
            -> PayloadRequirements
        { PayloadRequirements(bundleId: bundleId, environment: environment, requiresClaims: must) }
        #expect(try code(text, expecting: expect("com.example.app", .production, must: true)) == nil)
        #expect(try code(text, expecting: expect("com.example.other")) == .wrongBundleId)
        let download = try sign(
            .object([
                "bundleId": .string("com.example.app"), "appAppleId": .number(5), "receiptType": .string("Production"),
            ]))
        for (number, code) in [(5, nil), (6, .wrongAppAppleId)] as [(Int64, SignedPayloadError.Code?)] {
            let requirements = PayloadRequirements(bundleId: "com.example.app", appAppleId: number)
            let error: SignedPayloadError?
            do {
                _ = try Shared.verifier().verify(
                    download, as: AppTransactionPayload.self, expecting: requirements, now: Shared.noon)
                error = nil
            } catch let failure {
                error = failure as? SignedPayloadError
            }
            #expect(error?.code == code)
        }
        #expect(try code(text, expecting: expect(nil, .sandbox)) == .wrongEnvironment)
        #expect(try code(bare, expecting: expect("com.example.app", .sandbox)) == nil)
        #expect(try code(bare, expecting: expect("com.example.app", must: true)) == .wrongBundleId)
        #expect(try code(bare, expecting: expect(nil, .production, must: true)) == .unexpectedType)
        for environment in ["Xcode", "LocalTesting"] {
            #expect(try code(try sign(transaction("1", environment: environment))) == .xcode)
        }
    }

    @Test("Unknown claims and large numbers are preserved exactly")
    func claims() throws {
        let claims = Array(
            """
            {"price":9223372036854775807,"signedDate":1795262400000.9,"purchaseDate":-62135769600000,"quantity":1e0,
            "isUpgraded":true,"productId":"caf\\u00e9 \\ud83d\\ude00 \\/","new":{"a":[1,{"b":null}]},"type":null,
            "transactionId":"1","transactionId":"2"}
            """.utf8)
        let header = JSONValue.object(["alg": .string("ES256"), "x5c": .array(try chain())])
        let signed = Base64.encodeURLSafe(header.bytes) + "." + Base64.encodeURLSafe(claims)
        let raw = try Shared.pki.jwsLeaf.key.rawES256Signature(over: Array(signed.utf8))
        let payload = try Shared.verifier().verify(
            signed + "." + Base64.encodeURLSafe(raw), as: TransactionPayload.self, now: Shared.noon
        ).payload
        #expect(payload.price == .max)
        #expect(payload.signedDate == Shared.noon)
        #expect(payload.purchaseDate == Timestamp(milliseconds: -62_135_769_600_000))
        #expect(payload.quantity == 1)
        #expect(payload.isUpgraded == true)
        #expect(payload.productId == "café 😀 /")
        #expect(payload.type == nil)
        #expect(payload.transactionId == "2")
        #expect(payload.claims == claims)
    }

    @Test(
        "A claim that decides and has the wrong type is rejected, not treated as absent; so is what is not JSON",
        arguments: [
            (#"{"revocationDate":"1"}"#, .unexpectedType), (#"{"transactionId":1}"#, .unexpectedType),
            (#"{"signedDate":1e300}"#, .unexpectedType), (#"{"bundleId":"\ud800"}"#, .unexpectedType),
            ("[]", .malformed), ("{", .malformed), ("", .malformed), ("{} {}", .malformed), (#"{"a":01}"#, .malformed),
        ] as [(String, SignedPayloadError.Code)])
    func types(text: String, expected: SignedPayloadError.Code) throws {
        let header = JSONValue.object(["alg": .string("ES256"), "x5c": .array(try chain())])
        let signed = Base64.encodeURLSafe(header.bytes) + "." + Base64.encodeURLSafe(Array(text.utf8))
        let raw = try Shared.pki.jwsLeaf.key.rawES256Signature(over: Array(signed.utf8))
        #expect(try code(signed + "." + Base64.encodeURLSafe(raw)) == expected)
    }

    // MARK: - Kinds and verdicts

    private static let samples: [(kind: SignedKind, name: String, claims: JSONValue)] = [
        (.transaction, "a transaction", transaction("1")), (.renewal, "a renewal", renewal("1")),
        (
            .appTransaction, "an app transaction",
            .object(["receiptType": .string("Production"), "appTransactionId": .string("704")])
        ),
        (
            .notification, "a notification",
            .object(["notificationType": .string("TEST"), "notificationUUID": .string("u")])
        ),
        (
            .realTimeRequest, "a real-time request for a retention message",
            .object([
                "originalTransactionId": .string("1"), "productId": .string("p"), "userLocale": .string("en-US"),
                "requestIdentifier": .string("u"), "environment": .string("Production"),
            ])
        ),
    ]

    @Test("A JWS of another kind is named for what it is, in every combination")
    func kinds() throws {
        func error<Payload: SignedClaims>(_ text: String, _: Payload.Type) throws -> SignedPayloadError? {
            let verifier = try Shared.verifier()
            do throws(SignedPayloadError) {
                let _: Signed<Payload> = try verifier.verify(text, now: Shared.noon)
                return nil
            } catch { return error }
        }
        for sample in Self.samples {
            let text = try sign(sample.claims)
            let errors = try [
                error(text, TransactionPayload.self), error(text, RenewalPayload.self),
                error(text, AppTransactionPayload.self), error(text, NotificationPayload.self),
            ]
            for (expected, error) in zip(Self.samples, errors) {
                guard expected.kind != sample.kind else {
                    #expect(error == nil)
                    continue
                }
                #expect(error?.code == .wrongKind)
                let name = sample.name.split(separator: " ", maxSplits: 1)[1]
                #expect(error?.reason == "a signed \(name), not \(expected.name)")
            }
        }
        // A payload of no known kind is read as the expected one.
        #expect(try error(sign(.object(["new": .number(1)])), RenewalPayload.self) == nil)
    }

    @Test("Every error code has its verdict")
    func verdicts() {
        let verdicts: [SignedPayloadError.PayloadVerdict: Set<SignedPayloadError.Code>] = [
            .notOfThisKind: [.malformed, .wrongKind],
            .forged: [.unsigned, .x5c, .notAReceiptSigner, .untrustedChain, .outsideValidity, .badSignature, .xcode],
            .misplaced: [.wrongBundleId, .wrongAppAppleId, .wrongEnvironment],
            .notJudged: [.unsupportedAlgorithm, .unsupportedForm, .issuerUnknown, .unexpectedType, .unavailable],
        ]
        #expect(Dictionary(grouping: SignedPayloadError.Code.allCases, by: \.verdict).mapValues(Set.init) == verdicts)
    }
}

@Suite("Notification verification")
struct NotificationTests {
    private func notification(
        _ inner: JSONValue, bundleId: String = "com.example.app", date: Int64? = Shared.noon.milliseconds,
        innerText: String? = nil
    ) throws -> String {
        let signer = try Shared.pki.jwsSigner
        return try signer.jws(
            payload: .object([
                "notificationType": .string("REFUND"), "subtype": .string(""), "notificationUUID": .string("u"),
                "signedDate": date.map { .number($0) },
                "data": .object([
                    "bundleId": .string(bundleId), "environment": .string("Production"),
                    "signedTransactionInfo": .string(try innerText ?? signer.jws(payload: inner)),
                ]),
            ]))
    }

    @Test("A valid notification is returned with its transaction")
    func good() throws {
        let verified = try Shared.verifier().verifyNotification(
            try notification(transaction("7")),
            expecting: PayloadRequirements(bundleId: "com.example.app", requiresClaims: true),
            now: Shared.noon)
        #expect(verified.transaction?.payload.transactionId == "7")
        let text = try notification(
            transaction("7"), innerText: Shared.pki.jwsSigner.jws(payload: transaction("7")) + "\n")
        let spaced = try Shared.verifier().verifyNotification(" \n" + text + "\t", now: Shared.noon)
        #expect(spaced.notification.text == text && spaced.transaction?.text.hasSuffix("\n") == false)
        #expect(verified.notification.payload.subtype == nil)
        #expect(verified.renewal == nil)
    }

    @Test("A notification with an invalid or foreign transaction is rejected")
    func bad() throws {
        let foreign = try Shared.foreign.jwsSigner.jws(payload: transaction("7"))
        for (text, code) in [
            (try notification(transaction("7"), innerText: foreign), SignedPayloadError.Code.untrustedChain),
            (try notification(transaction("7", bundleId: "com.example.other")), .wrongBundleId),
            (try notification(transaction("7", environment: "Sandbox")), .wrongEnvironment),
            (try notification(transaction("7"), innerText: "x"), .malformed),
        ] {
            let error = #expect(throws: SignedPayloadError.self) {
                try Shared.verifier().verifyNotification(text, now: Shared.noon)
            }
            #expect(error?.code == code)
            #expect(error?.place.hasPrefix("data.signedTransactionInfo › ") == true)
        }
    }
}
