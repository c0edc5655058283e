import ReceiptBridgeCOpenSSL
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Signatures that are not exactly PKCS#1 v1.5")
struct LooseSignatureTests {
    /// An RSA key of 1024 bits with exponent 3, made for this test. The private half is included.
    private static let modulus = """
        1dRO1bSCWGUrpU3MmQ2xgbDC57aqWWDT5nP26RUSf2BBu7mgOtpF7wSCoAOHF758hXcJqe9gbSJ1/y6pPfl+GkWBT+n6nNAIc4FIfCKlTmu1
        FVctoiyaKxsScqIdtJELhQ35VT4i9h+VBavESAfG/w40nqxd2XqSho9wMy4i1uE=
        """
    private static let privateExponent = """
        jo2J482sOu4dGN6IZgkhASCB788cO5XimaKkm2NhqkAr0nvAJzwun1hXFVevZSmoWPoGcUpASMGj/3Rw0/upZaAOShRNVVH5dm8zWG/hQHxF
        njAB42cwP50S+oC+clhTU4c1vYK/0p9oWjZ8sw5oD9fOGjAcHed0xUgDuPBzYKs=
        """
    private static let size = 128
    private static let message = Array("a receipt".utf8)

    private static func decoded(_ base64: String) -> [UInt8] {
        [UInt8](Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data())
    }

    /// The content that PKCS#1 v1.5 signs: `DigestInfo` with SHA-1 and the hash.
    private static let digestInfo: [UInt8] =
        [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00, 0x04, 0x14] + hash
    private static let hash = [UInt8](SHA.digest(message, with: .sha1))

    /// Prepends `00 01 FF … FF 00`, up to the length of the key.
    private static func padded(_ content: [UInt8], type: UInt8 = 1, filler: UInt8 = 0xFF) -> [UInt8] {
        [0, type] + [UInt8](repeating: filler, count: size - 3 - content.count) + [0] + content
    }

    /// Padding that is too short, followed by garbage.
    private static func padded(by count: Int, garbage: UInt8) -> [UInt8] {
        let beginning = [0, 1] + [UInt8](repeating: 0xFF, count: count) + [0] + digestInfo
        return beginning + [UInt8](repeating: garbage, count: size - beginning.count)
    }

    private static func replacing(_ index: Int, in bytes: [UInt8], with byte: UInt8) -> [UInt8] {
        var changed = bytes
        changed[index] = byte
        return changed
    }

    private static let oid: [UInt8] = [0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A]

    static let encodings: [(name: String, encoded: [UInt8])] = [
        ("garbage after the hash (Bleichenbacher, 2006)", padded(by: 8, garbage: 0x5A)),
        ("two bytes of padding, then zeros", padded(by: 2, garbage: 0)),
        ("no padding, then zeros", padded(by: 0, garbage: 0)),
        (
            "garbage in the digest's parameters",
            padded(
                [0x30, 0x31, 0x30, 0x19] + oid + [0x04, 0x10] + [UInt8](repeating: 7, count: 16) + [0x04, 0x14] + hash)
        ),
        ("no parameters", padded([0x30, 0x1F, 0x30, 0x07] + oid + [0x04, 0x14] + hash)),
        ("a length that is not minimally encoded", padded([0x30, 0x81] + digestInfo.dropFirst())),
        ("an indefinite length", padded([0x30, 0x80] + digestInfo.dropFirst(2) + [0, 0])),
        (
            "additional bytes after the hash, inside DigestInfo",
            padded([0x30, 0x23] + digestInfo.dropFirst(2) + [5, 0])
        ),
        (
            "the OID of a different digest",
            padded(
                [0x30, 0x20, 0x30, 0x0C, 0x06, 0x08, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05, 5, 0, 0x04, 0x10]
                    + hash.prefix(16))
        ),
        ("the bare hash", padded(hash)),
        ("padding for encryption, block type 2", padded(digestInfo, type: 2)),
        ("zeros for padding, block type 0", padded(digestInfo, type: 0, filler: 0)),
        ("one byte of the padding other than FF", replacing(40, in: padded(digestInfo), with: 0xFE)),
        ("a first byte other than 0", replacing(0, in: padded(digestInfo), with: 1)),
    ]

    /// The cube root of the smallest number that begins with `00 01 FF 00` and the DigestInfo. It can be found
    /// without the key.
    private static let cubeRoot = decoded("AUJUbwzLCHUmVkEzoPUO4iMXNUz8Q2gkaT6RlBo7dyprRHKJI3lhmJ+Bug==")

    private func key() throws -> VerifyingKey {
        let rsaEncryption = DEREncoder.sequence(DEREncoder.objectIdentifier("1.2.840.113549.1.1.1"), DEREncoder.null)
        let numbers = DEREncoder.sequence(
            DEREncoder.integer(magnitude: Self.decoded(Self.modulus)), DEREncoder.integer(3))
        return try VerifyingKey(publicKeyInfo: DEREncoder.sequence(rsaEncryption, DEREncoder.bitString(numbers)).span)
    }

    /// Runs the RSA private operation alone, without padding.
    private func raised(_ encoded: [UInt8]) throws -> [UInt8] {
        let context = try #require(BN_CTX_new())
        defer { BN_CTX_free(context) }
        func bigNumber(_ bytes: [UInt8]) throws -> OpaquePointer {
            try #require(BN_bin2bn(bytes, CInt(bytes.count), nil))
        }
        let (base, exponent) = (try bigNumber(encoded), try bigNumber(Self.decoded(Self.privateExponent)))
        let modulus = try bigNumber(Self.decoded(Self.modulus))
        defer { for value in [base, exponent, modulus] { BN_free(value) } }
        #expect(BN_mod_exp(base, base, exponent, modulus, context) == 1)
        var result = [UInt8](repeating: 0, count: Self.size)
        #expect(BN_bn2binpad(base, &result, CInt(Self.size)) == CInt(Self.size))
        return result
    }

    // T7
    @Test(
        "A signature with inexact padding is refused, even if it was made with the private key",
        arguments: Named.list(encodings) { $0.name })
    func forged(row: Named<(name: String, encoded: [UInt8])>) throws {
        let (name, encoded) = row.value
        let key = try key()
        let genuine = try raised(Self.padded(Self.digestInfo))
        try key.verify(genuine.span, over: Self.message.span, digest: .sha1)
        #expect(encoded.count == Self.size)
        let signature = try raised(encoded)
        #expect(
            throwsCode(.badSignature, name) { try key.verify(signature.span, over: Self.message.span, digest: .sha1) })
    }

    // T7
    @Test("A cube root made without the key is refused with exponent 3")
    func cube() throws {
        let signature = [UInt8](repeating: 0, count: Self.size - Self.cubeRoot.count) + Self.cubeRoot
        let key = try key()
        #expect(
            throwsCode(.badSignature, "cube") { try key.verify(signature.span, over: Self.message.span, digest: .sha1) }
        )
    }

    @Test("A genuine signature that is shortened, extended or has the modulus added is refused")
    func spellings() throws {
        let key = try key()
        let genuine = try raised(Self.padded(Self.digestInfo))
        var sum: [UInt8] = []
        var carry = 0
        for (left, right) in zip(genuine.reversed(), Self.decoded(Self.modulus).reversed()) {
            carry += Int(left) + Int(right)
            sum.insert(UInt8(carry & 0xFF), at: 0)
            carry >>= 8
        }
        if carry > 0 { sum.insert(UInt8(carry), at: 0) }
        for signature in [
            [0] + genuine, Array(genuine.dropFirst()), genuine + [0], sum, [], Array(sum.suffix(Self.size)),
        ] {
            #expect(
                throwsCode(.badSignature, "\(signature.count) bytes") {
                    try key.verify(signature.span, over: Self.message.span, digest: .sha1)
                })
        }
    }
}
