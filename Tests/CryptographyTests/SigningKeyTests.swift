import ReceiptBridgeCryptography
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Signing keys")
struct SigningKeyTests {
    static let message = Array("what is signed".utf8)

    @Test(
        "OpenSSL's command line verifies RSA signatures of PKCS#1 v1.5",
        arguments: [(1024, DigestAlgorithm.sha1), (2048, .sha256), (2048, .sha384)])
    func rsa(bits: Int, digest: DigestAlgorithm) throws {
        let key = try SigningKey.rsa(bits: bits)
        let signature = try key.signature(over: Self.message, digest: digest)
        #expect(key.isRSA)
        #expect(key.bits == bits)
        #expect(signature.count == bits / 8)
        #expect(try opensslVerifies(key, signature, digest))
    }

    @Test("OpenSSL's command line verifies ECDSA signatures", arguments: [DigestAlgorithm.sha256, .sha384])
    func ecdsa(digest: DigestAlgorithm) throws {
        let key = digest == .sha256 ? try SigningKey.p256() : try SigningKey.p384()
        let signature = try key.signature(over: Self.message, digest: digest)
        #expect(!key.isRSA)
        #expect(signature.first == 0x30)
        #expect(try opensslVerifies(key, signature, digest))
    }

    @Test("The raw ES256 signature has 64 bytes and verifies after conversion to DER")
    func raw() throws {
        let key = try SigningKey.p256()
        for _ in 0..<50 {
            let signature = try key.rawES256Signature(over: Self.message)
            #expect(signature.count == 64)
            let der = ES256Signature.der(raw: signature.span) ?? []
            #expect(try opensslVerifies(key, der, .sha256))
            if signature[0] == 0 { break }
        }
    }

    @Test("ES256 is refused with an RSA or P-384 key")
    func wrongKind() throws {
        let rsa = try SigningKey.rsa(bits: 1024)
        let p384 = try SigningKey.p384()
        #expect(throws: CryptographyError.self) { try rsa.rawES256Signature(over: Self.message) }
        #expect(throws: CryptographyError.self) { try p384.rawES256Signature(over: Self.message) }
    }

    // Made with `openssl genpkey`, for this test only.
    static let foreign: [(name: String, body: String)] = [
        (
            "secp256k1",
            """
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQggU3inKYmQIk6UmapmI8a
            9CM/1s8tKcd9uWVSyK3Kxz2hRANCAAQUMFOl0PJ2qDILtPj7hVMi4iQvrqE+eDP6
            UdWsGhXMLwLup1pHzoZKThWfCXO7X/EnFa4RePmB5UmWS5DISmK3
            """
        ),
        ("ED25519", "MC4CAQAwBQYDK2VwBCIEIOE/kBor3RS0n0D2BymET+Bvjj1DvfNfdV2KgwRRTtAh"),
    ]

    @Test("Keys of 256 bits that are not P-256 are named, and ES256 is refused with them", arguments: foreign)
    func otherCurves(name: String, body: String) throws {
        let key = try SigningKey(privateKeyPEM: "-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n")
        #expect(key.bits > 250 && !key.isP256 && key.kind == name)
        #expect(throws: CryptographyError.self) { try key.rawES256Signature(over: Self.message) }
    }

    @Test("A key is restored from its own PKCS#8 text")
    func roundTrip() throws {
        for key in [try SigningKey.p256(), try SigningKey.rsa(bits: 1024)] {
            let text = key.privateKeyPEM
            #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
            let again = try SigningKey(privateKeyPEM: text)
            #expect(again.publicKeyInfo == key.publicKeyInfo)
            #expect(!key.publicKeyInfo.isEmpty)
        }
    }

    @Test(
        "Text that is not a private key is refused in words, and nothing of it is shown",
        arguments: [
            "": "the private key is empty", " \n": "the private key is empty",
            "canary": "the private key does not begin with -----BEGIN PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\ncanary\n": "the private key is incomplete: its last line is missing",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "the text of the private key is damaged",
            #"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"#:
                #"the private key has no line breaks, or they are written as \n"#,
            "-----BEGIN CERTIFICATE-----\nAAAA\n": "a private key is expected, and this is a certificate",
            "-----BEGIN canary-----\nAAAA\n": "a private key is expected, and this is something else",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n":
                "the private key is encrypted; an unencrypted one is expected, as App Store Connect provides it",
        ])
    func malformed(text: String, reason: String) {
        let error = #expect(throws: CryptographyError.self) { try SigningKey(privateKeyPEM: text) }
        #expect(error == CryptographyError(.malformed, reason))
    }

    // T25
    @Test("A file that begins with one key and ends with another is refused, wherever they are joined")
    func halves() throws {
        func bytes(_ key: SigningKey) throws -> Data {
            let lines = key.privateKeyPEM.split(separator: "\n").filter { !$0.hasPrefix("-----") }
            return try #require(Data(base64Encoded: lines.joined()))
        }
        let (previous, new) = (try bytes(.p256()), try bytes(.p256()))
        try #require(previous.count == new.count && previous.count > 100)
        var refused = 0
        for end in 1..<new.count {
            let mixed = new.prefix(end) + previous.suffix(from: end)
            guard mixed != previous, mixed != new else { continue }
            let text = "-----BEGIN PRIVATE KEY-----\n\(mixed.base64EncodedString())\n-----END PRIVATE KEY-----\n"
            #expect(throws: CryptographyError.self, "\(end)") { try SigningKey(privateKeyPEM: text) }
            refused += 1
        }
        #expect(refused > 80)
    }

    @Test("Digests match the published test vectors")
    func digests() {
        #expect(SHA.hex(Array("abc".utf8), with: .sha1) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(SHA.hex([], with: .sha256) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(SHA.digest([], with: .sha384).count == 48)
    }

    private func opensslVerifies(_ key: SigningKey, _ signature: [UInt8], _ digest: DigestAlgorithm) throws -> Bool {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try folder.write("key.der", key.publicKeyInfo)
        try folder.write("signature", signature)
        try folder.write("message", Self.message)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.currentDirectoryURL = folder.url
        process.arguments = [
            "openssl", "dgst", "-\(digest)", "-keyform", "DER", "-verify", "key.der", "-signature", "signature",
            "message",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

@Suite("Raw ES256 signatures")
struct ES256SignatureTests {
    @Test("A raw signature converted to DER verifies with its key")
    func roundTrip() throws {
        let key = try SigningKey.p256()
        let publicKeyInfo = key.publicKeyInfo
        let verifying = try VerifyingKey(publicKeyInfo: publicKeyInfo.span)
        let message = Array("what is signed".utf8)
        // Enough signatures for leading zeros and set top bits of r and s.
        for _ in 0..<600 {
            let raw = try key.rawES256Signature(over: message)
            let der = ES256Signature.der(raw: raw.span) ?? []
            try verifying.verify(der.span, over: message.span, digest: .sha256)
        }
        #expect(verifying.isP256)
        let other = try SigningKey.p384().publicKeyInfo
        #expect(try !VerifyingKey(publicKeyInfo: other.span).isP256)
    }

    @Test("The DER form has minimal integers, and only 64 bytes are converted")
    func encoding() {
        func der(_ r: [UInt8], _ s: [UInt8]) -> [UInt8]? {
            let raw = [UInt8](repeating: 0, count: 32 - r.count) + r + [UInt8](repeating: 0, count: 32 - s.count) + s
            return ES256Signature.der(raw: raw.span)
        }
        #expect(der([], []) == [0x30, 6, 2, 1, 0, 2, 1, 0])
        #expect(der([0x7F], [0x80]) == [0x30, 7, 2, 1, 0x7F, 2, 2, 0, 0x80])
        let ones = [UInt8](repeating: 0xFF, count: 32)
        #expect(der(ones, ones) == [0x30, 70] + [2, 33, 0] + ones + [2, 33, 0] + ones)
        for size in [0, 1, 63, 65, 72] {
            let raw = [UInt8](repeating: 1, count: size)
            #expect(ES256Signature.der(raw: raw.span) == nil)
        }
    }
}
