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

    @Test("A receipt with a changed byte of the attributes or the signature, or of another signer, is not authentic")
    func damaged() throws {
        let signer = try MintedReceipts.pki.receiptSigner
        let bytes = try Self.sign(MintedReceipts.content().payload(), by: signer, digest: EVP_sha256())
        let info = try #require(bytes.ranges(of: signer.leaf.issuerAndSerialNumber).last).upperBound
        let accepted = try (info..<bytes.count).filter { offset in
            var damaged = bytes
            damaged[offset] ^= 1
            return try Decoders.apple.refusal(of: damaged) == nil
        }
        // The parameters of an algorithm are ignored: NULL after each of the two names.
        #expect(accepted.allSatisfy { bytes[$0] == 5 || bytes[$0] == 0 } && accepted.count <= 4, "\(accepted)")
        let foreign = try Self.sign(
            MintedReceipts.content().payload(), by: MintedReceipts.pki.developerCertificate(), digest: EVP_sha256())
        #expect(try Decoders.apple.refusal(of: foreign)?.verdict == .forged)
    }
}
