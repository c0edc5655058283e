import Cryptography
import Testing

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
