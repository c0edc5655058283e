import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Public key policy")
struct PublicKeyPolicyTests {
    private static func info(_ algorithm: [UInt8], _ key: [UInt8]) -> [UInt8] {
        DEREncoder.sequence(algorithm, DEREncoder.bitString(key))
    }

    private static let rsaAlgorithm = DEREncoder.sequence(
        DEREncoder.objectIdentifier("1.2.840.113549.1.1.1"), DEREncoder.null)

    /// A public key of that many bits, without a private half.
    static func rsa(bits: Int, exponent: [UInt8] = [1, 0, 1]) -> [UInt8] {
        var modulus = [UInt8](repeating: 0xA5, count: (bits + 7) / 8)
        if let last = modulus.indices.last {
            modulus[last] |= 1
            modulus[0] = UInt8(truncatingIfNeeded: 1 << ((bits - 1) % 8))
        }
        return info(
            rsaAlgorithm,
            DEREncoder.sequence(DEREncoder.integer(magnitude: modulus), DEREncoder.integer(magnitude: exponent)))
    }

    private static func curve(_ parameters: [UInt8], point bytes: Int) -> [UInt8] {
        info(
            DEREncoder.sequence(DEREncoder.objectIdentifier("1.2.840.10045.2.1"), parameters),
            [4] + [UInt8](repeating: 0x11, count: 2 * bytes))
    }

    /// `ECParameters` of P-256 with a generator chosen by the sender: CVE-2020-0601.
    private static let explicitParameters = DEREncoder.sequence(
        DEREncoder.integer(1),
        DEREncoder.sequence(
            DEREncoder.objectIdentifier("1.2.840.10045.1.1"),
            DEREncoder.integer(magnitude: [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1])),
        DEREncoder.sequence(DEREncoder.octetString([1]), DEREncoder.octetString([2])),
        DEREncoder.octetString([4, 1, 1]), DEREncoder.integer(7))

    static let refused: [(name: String, info: [UInt8], code: CryptographyError.Code)] = [
        ("RSA, 16 bits", rsa(bits: 16), .keyRefused),
        ("RSA, 512 bits", rsa(bits: 512), .keyRefused),
        ("RSA, 1023 bits", rsa(bits: 1023), .keyRefused),
        ("RSA, 4097 bits", rsa(bits: 4097), .unsupported),
        ("RSA, 4104 bits", rsa(bits: 4104), .unsupported),
        ("RSA, 8192 bits", rsa(bits: 8192), .unsupported),
        ("RSA, a million bits", rsa(bits: 1_000_000), .unsupported),
        ("RSA, exponent 0", rsa(bits: 2048, exponent: [0]), .keyRefused),
        ("RSA, exponent 1", rsa(bits: 2048, exponent: [1]), .keyRefused),
        ("RSA, exponent 2", rsa(bits: 2048, exponent: [2]), .keyRefused),
        ("RSA, exponent 65538", rsa(bits: 2048, exponent: [1, 0, 2]), .keyRefused),
        ("RSA, exponent of 33 bits", rsa(bits: 2048, exponent: [1, 0, 0, 0, 1]), .keyRefused),
        ("RSA, exponent of 2048 bits", rsa(bits: 2048, exponent: .init(repeating: 0xFF, count: 256)), .keyRefused),
        (
            "RSA, a negative modulus",
            info(
                rsaAlgorithm,
                DEREncoder.sequence(
                    DEREncoder.value(tag: 0x02, .init(repeating: 0xA5, count: 256)), DEREncoder.integer(3))),
            .keyRefused
        ),
        (
            "RSA, an empty modulus",
            info(rsaAlgorithm, DEREncoder.sequence(DEREncoder.value(tag: 0x02, []), DEREncoder.integer(3))), .keyRefused
        ),
        ("RSA, an empty key", info(rsaAlgorithm, []), .malformed),
        ("RSA, no exponent", info(rsaAlgorithm, DEREncoder.sequence(DEREncoder.integer(3))), .malformed),
        ("RSA, a text for a key", info(rsaAlgorithm, DEREncoder.utf8String("key")), .malformed),
        ("RSA-PSS", info(DEREncoder.sequence(DEREncoder.objectIdentifier("1.2.840.113549.1.1.10")), [0]), .unsupported),
        (
            "P-256, a point that is not on it", curve(DEREncoder.objectIdentifier("1.2.840.10045.3.1.7"), point: 32),
            .malformed
        ),
        ("P-224", curve(DEREncoder.objectIdentifier("1.3.132.0.33"), point: 28), .unsupported),
        ("P-521", curve(DEREncoder.objectIdentifier("1.3.132.0.35"), point: 66), .unsupported),
        ("secp256k1", curve(DEREncoder.objectIdentifier("1.3.132.0.10"), point: 32), .unsupported),
        ("a curve with explicit parameters", curve(explicitParameters, point: 32), .unsupported),
        ("an implied curve", curve(DEREncoder.null, point: 32), .unsupported),
        ("a curve without parameters", curve([], point: 32), .malformed),
        (
            "Ed25519",
            info(DEREncoder.sequence(DEREncoder.objectIdentifier("1.3.101.112")), .init(repeating: 9, count: 32)),
            .unsupported
        ),
        ("DSA", info(DEREncoder.sequence(DEREncoder.objectIdentifier("1.2.840.10040.4.1")), [2, 1, 5]), .unsupported),
        ("an empty buffer", [], .malformed),
        ("an empty sequence", [0x30, 0], .malformed),
        ("zeros", .init(repeating: 0, count: 300), .malformed),
        ("ones", .init(repeating: 0xFF, count: 300), .malformed),
    ]

    // T7
    @Test(
        "A key that is too small, too large or of an unsupported type is refused before any arithmetic",
        arguments: Named.list(refused) { $0.name })
    func refuses(row: Named<(name: String, info: [UInt8], code: CryptographyError.Code)>) throws {
        let (name, info, code) = row.value
        #expect(throwsCode(code, name) { _ = try VerifyingKey(publicKeyInfo: info.span) })
        let certificate = try CertificateBlueprint(
            issuer: .init(commonName: "Anyone", organization: "Test"), publicKeyInfo: info
        ).der()
        let expected: CryptographyError.Code = certificate.count > Certificate.maximumSize ? .malformed : code
        #expect(throwsCode(expected, name) { _ = try Certificate(der: certificate.span) })
    }

    static let accepted: [(name: String, info: [UInt8])] = [
        ("RSA, 1024 bits", rsa(bits: 1024)), ("RSA, 1025 bits", rsa(bits: 1025)), ("RSA, 2048 bits", rsa(bits: 2048)),
        ("RSA, 4096 bits", rsa(bits: 4096)), ("RSA, exponent 3", rsa(bits: 2048, exponent: [3])),
        ("RSA, exponent of 32 bits", rsa(bits: 2048, exponent: [0xFF, 0, 0, 1])),
    ]

    @Test("RSA keys of 1024 to 4096 bits and keys on P-256 and P-384 are accepted")
    func accepts() throws {
        for (_, info) in Self.accepted { _ = try VerifyingKey(publicKeyInfo: info.span) }
        for key in [try SigningKey.p256(), try SigningKey.p384()] {
            _ = try VerifyingKey(publicKeyInfo: key.publicKeyInfo.span)
        }
    }

    @Test("A key followed by further bytes is refused")
    func trailing() {
        let info = Self.rsa(bits: 2048) + [0]
        #expect(throwsCode(.malformed, "trailing") { _ = try VerifyingKey(publicKeyInfo: info.span) })
    }
}

@Suite("Certificate parsing")
struct CertificateTests {
    @Test("A certificate of 16,384 bytes is read, and a longer one is refused")
    func size() throws {
        let name = try MintedReceipts.pki.root.template.subject
        let info = PublicKeyPolicyTests.rsa(bits: 2048)
        func certificate(padding: Int) throws -> [UInt8] {
            try CertificateBlueprint(
                issuer: name, publicKeyInfo: info,
                extensions: [CertificateBlueprint.entry("1.2.3.4", .init(repeating: 0, count: padding))]
            ).der()
        }
        let surplus = try certificate(padding: 15_000).count - 15_000
        let (longest, longer) = (16_384 - surplus, 16_385 - surplus)
        let (fits, tooLarge) = (try certificate(padding: longest), try certificate(padding: longer))
        #expect(fits.count == 16_384)
        _ = try Certificate(der: fits.span)
        #expect(throwsCode(.malformed, "16,385 bytes") { _ = try Certificate(der: tooLarge.span) })
    }

    @Test("A certificate that is cut off, or followed by further bytes, is refused")
    func truncated() throws {
        let der = try MintedReceipts.pki.receiptLeaf.certificate
        for count in stride(from: 0, to: der.count, by: 7) {
            let cut = Array(der.prefix(count))
            #expect(throwsCode(.malformed, "\(count) bytes") { _ = try Certificate(der: cut.span) })
        }
        let longer = der + [0]
        #expect(throwsCode(.malformed, "one byte more") { _ = try Certificate(der: longer.span) })
    }

    @Test("A certificate whose lengths are not minimally encoded is refused")
    func nonMinimal() throws {
        // The outer lengths are not signed: if both forms were accepted, one receipt would have several encodings.
        let der = try MintedReceipts.pki.receiptLeaf.certificate
        let again = [0x30, 0x83, 0] + der[2...]
        #expect(der[1] == 0x82)
        #expect(throwsCode(.malformed, "30 83 00 …") { _ = try Certificate(der: again.span) })
    }

    @Test("A certificate whose validity period ends before it begins is refused")
    func backwards() throws {
        var blueprint = CertificateBlueprint(
            issuer: .init(commonName: "Anyone", organization: "Test"),
            publicKeyInfo: PublicKeyPolicyTests.rsa(bits: 2048))
        blueprint.validity = Validity(from: Validity.wide.to, to: Validity.wide.from)
        let der = try blueprint.der()
        #expect(throwsCode(.malformed, "backwards") { _ = try Certificate(der: der.span) })
    }

    // T7
    @Test("A certificate with random bit flips is either read or refused")
    func mutations() throws {
        var random = SeededGenerator("certificate mutations")
        let der = try MintedReceipts.pki.receiptLeaf.certificate
        for _ in 0..<1_500 {
            var mutant = der
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                mutant[Int.random(in: 0..<der.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
            do throws(CryptographyError) {
                let certificate = try Certificate(der: mutant.span)
                #expect(certificate.der == mutant)
                _ = try? certificate.publicKey()
            } catch {
                #expect([.malformed, .keyRefused, .unsupported].contains(error.code))
            }
        }
    }
}

/// Returns whether the body throws an error with this code. Prints any other result.
func throwsCode(_ code: CryptographyError.Code, _ name: String, _ body: () throws -> Void) -> Bool {
    do {
        try body()
        print("\(name): nothing was thrown")
        return false
    } catch {
        let found = (error as? CryptographyError)?.code
        if found != code { print("\(name): \(error)") }
        return found == code
    }
}
