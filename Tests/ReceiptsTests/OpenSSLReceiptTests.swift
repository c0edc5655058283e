import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// Receipts whose container was made by OpenSSL's CMS functions, which write signed attributes: contentType,
/// signingTime, messageDigest and S/MIME capabilities.
@Suite("App Receipts signed by OpenSSL")
struct OpenSSLReceiptTests {
    /// What `openssl cms -sign -binary -nodetach -outform DER` does.
    private static func sign(
        _ content: [UInt8], by signer: ReceiptSigner, digest: OpaquePointer?, flags: UInt32 = 0
    ) throws -> [UInt8] {
        var certificates: [OpaquePointer] = []
        defer { for certificate in certificates { X509_free(certificate) } }
        for encoding in signer.certificates {
            let certificate = encoding.withUnsafeBufferPointer { buffer -> OpaquePointer? in
                var start = buffer.baseAddress
                return d2i_X509(nil, &start, buffer.count)
            }
            certificates.append(try #require(certificate))
        }
        let pem = Array(signer.leaf.key.privateKeyPEM.utf8)
        let input = try Self.memory(pem)
        defer { BIO_free(input) }
        let key = try #require(PEM_read_bio_PrivateKey(input, nil, nil, nil))
        defer { EVP_PKEY_free(key) }
        let flags = flags | UInt32(CMS_BINARY | CMS_PARTIAL)
        let cms = try #require(CMS_sign(nil, nil, nil, nil, flags))
        defer { CMS_ContentInfo_free(cms) }
        _ = try #require(CMS_add1_signer(cms, certificates[0], key, digest, flags))
        for certificate in certificates.dropFirst() { #expect(CMS_add1_cert(cms, certificate) == 1) }
        let data = try Self.memory(content)
        defer { BIO_free(data) }
        #expect(CMS_final(cms, data, nil, flags) == 1)
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = Int(i2d_CMS_ContentInfo(cms, &encoded))
        defer { CRYPTO_free(encoded, nil, 0) }
        return Array(UnsafeBufferPointer(start: encoded, count: max(count, 0)))
    }

    /// `BIO_new_mem_buf` would keep a pointer that Swift lends for one call only.
    private static func memory(_ bytes: [UInt8]) throws -> OpaquePointer {
        let memory = try #require(BIO_new(BIO_s_mem()))
        #expect(BIO_write(memory, bytes, Int32(bytes.count)) == bytes.count)
        return memory
    }

    private static func lastOffset(of pattern: [UInt8], in bytes: [UInt8]) throws -> Int {
        try #require(
            stride(from: bytes.count - pattern.count, through: 0, by: -1).first {
                bytes[$0..<$0 + pattern.count].elementsEqual(pattern)
            })
    }

    @Test("A receipt with OpenSSL's signed attributes is authentic and has the same contents as one without")
    func accepted() throws {
        let content = MintedReceipts.content().payload()
        let plain = try Decoders.apple.decode(MintedReceipts.base64(try MintedReceipts.app()).span)
        for (digest, flags) in [
            (EVP_sha256(), UInt32(0)), (EVP_sha256(), UInt32(CMS_NOSMIMECAP)), (EVP_sha1(), 0),
            (EVP_sha256(), UInt32(CMS_NOATTR)),
        ] {
            let bytes = try Self.sign(content, by: MintedReceipts.pki.receiptSigner, digest: digest, flags: flags)
            let receipt = try Decoders.apple.decode(MintedReceipts.base64(bytes).span)
            #expect(receipt.bundleId == plain.bundleId && receipt.signedBytes.reveal() == plain.signedBytes.reveal())
        }
    }

    @Test(
        "Each of ten damages of a receipt with signed attributes makes it not authentic",
        arguments: [
            "content", "messageDigest", "contentType", "signingTime", "signature", "digest algorithm", "attribute tag",
            "attributes removed", "leaf", "another signer",
        ])
    func damaged(damage: String) throws {
        let content = MintedReceipts.content().payload()
        let signer = try MintedReceipts.pki.receiptSigner
        var bytes = try Self.sign(content, by: signer, digest: EVP_sha256())
        let attributes: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09]
        switch damage {
        case "content": bytes[try Self.lastOffset(of: content.suffix(12), in: bytes) + 11] ^= 1
        case "messageDigest": bytes[try Self.lastOffset(of: attributes + [0x04, 0x31, 0x22], in: bytes) + 20] ^= 1
        case "contentType": bytes[try Self.lastOffset(of: attributes + [0x03, 0x31, 0x0B], in: bytes) + 23] ^= 3
        case "signingTime": bytes[try Self.lastOffset(of: attributes + [0x05, 0x31], in: bytes) + 18] ^= 1
        case "signature": bytes[bytes.count - 1] ^= 1
        case "digest algorithm":
            // SHA-256 becomes SHA-384 in SignerInfo.
            let name: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
            let signerInfo = try Self.lastOffset(of: signer.leaf.issuerAndSerialNumber, in: bytes)
            let offset = try #require((signerInfo..<bytes.count - 9).first { Array(bytes[$0..<$0 + 9]) == name })
            bytes[offset + 8] = 2
        case "attribute tag":
            bytes[try Self.lastOffset(of: attributes + [0x03], in: bytes) - 2] = 0x31
        case "attributes removed":
            bytes = try Self.withoutAttributes(bytes, signer)
        case "leaf":
            bytes[try Self.lastOffset(of: signer.leaf.certificate.suffix(16), in: bytes) + 15] ^= 1
        default:
            let foreign = try MintedReceipts.pki.developerCertificate()
            bytes = try Self.sign(content, by: foreign, digest: EVP_sha256())
        }
        let refusal = try #require(try Decoders.apple.refusal(of: bytes))
        #expect(refusal.verdict == (damage == "digest algorithm" ? .notJudged : .forged), "\(refusal)")
    }

    /// The same receipt without its signed attributes, made of the same parts; the signature then covers the content.
    private static func withoutAttributes(_ bytes: [UInt8], _ signer: ReceiptSigner) throws -> [UInt8] {
        let content = MintedReceipts.content().payload()
        let data = DEREncoder.objectIdentifier("1.2.840.113549.1.7.1")
        func algorithm(_ identifier: String) -> [UInt8] {
            DEREncoder.sequence(DEREncoder.objectIdentifier(identifier), DEREncoder.null)
        }
        let digest = algorithm("2.16.840.1.101.3.4.2.1")
        let info = DEREncoder.sequence(
            DEREncoder.integer(1), signer.leaf.issuerAndSerialNumber, digest, algorithm("1.2.840.113549.1.1.1"),
            DEREncoder.octetString(Array(bytes.suffix(256))))
        return DEREncoder.sequence(
            DEREncoder.objectIdentifier("1.2.840.113549.1.7.2"),
            DEREncoder.context(
                0,
                DEREncoder.sequence(
                    DEREncoder.integer(1), DEREncoder.set([digest]),
                    DEREncoder.sequence(data, DEREncoder.context(0, DEREncoder.octetString(content))),
                    DEREncoder.value(tag: 0xA0, parts: signer.certificates), DEREncoder.set([info]))))
    }
}
