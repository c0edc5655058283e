import ReceiptBridgeBase
import Foundation
import Testing

@Suite("Base64")
struct Base64TextTests {
    private func decode(_ text: String, _ form: Base64Text.Form) -> [UInt8]? {
        let characters = Array(text.utf8)
        return Base64Text.decode(characters.span, form)
    }

    @Test(
        "The standard form is decoded with its padding",
        arguments: [
            ("QQ==", [0x41]), ("QUI=", [0x41, 0x42]), ("QUJD", [0x41, 0x42, 0x43]), ("+/+/", [0xFB, 0xFF, 0xBF]),
        ] as [(String, [UInt8])])
    func standard(text: String, bytes: [UInt8]) {
        let decoded = decode(text, .standard)
        #expect(decoded == bytes)
    }

    @Test(
        "The URL-safe form is decoded without padding",
        arguments: [
            ("QQ", [0x41]), ("QUI", [0x41, 0x42]), ("QUJD", [0x41, 0x42, 0x43]), ("-_-_", [0xFB, 0xFF, 0xBF]),
        ] as [(String, [UInt8])])
    func urlSafe(text: String, bytes: [UInt8]) {
        let decoded = decode(text, .urlSafe)
        #expect(decoded == bytes)
    }

    @Test(
        "Wrong padding, other characters and unused bits that are set are rejected",
        arguments: [
            ("QQ", .standard), ("QQ=", .standard), ("Q===", .standard), ("QR==", .standard), ("QUJ=", .standard),
            ("QQ==\n", .standard), ("-_-_", .standard), ("Q Q=", .standard),
            ("QQ==", .urlSafe), ("Q", .urlSafe), ("QR", .urlSafe), ("+/+/", .urlSafe),
        ] as [(String, Base64Text.Form)])
    func rejected(text: String, form: Base64Text.Form) {
        let decoded = decode(text, form)
        #expect(decoded == nil)
    }

    @Test("Encoded bytes are decoded to the same bytes", arguments: 1...40)
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
        let text = Base64Text.encodeURLSafe(bytes)
        let decoded = Base64Text.decode(text.span, .urlSafe)
        #expect(text.count == Base64Text.urlSafeCount(of: count))
        #expect(decoded == bytes)
    }

    @Test(
        "The receipt form accepts unused bits that are set, and nothing else that the standard form rejects",
        arguments: [
            ("", []), ("QQ==", [0x41]), ("QR==", [0x41]), ("QUJ=", [0x41, 0x42]), ("QUJD", [0x41, 0x42, 0x43]),
            ("QQ", nil), ("AA=A", nil), ("====", nil), ("A===", nil), ("QQ==\n", nil), ("-_-_", nil), ("Q Q=", nil),
        ] as [(String, [UInt8]?)])
    func receipt(text: String, bytes: [UInt8]?) {
        #expect(decode(text, .receipt) == bytes)
    }

    @Test("The standard encoding has padding", arguments: 1...40)
    func standardRoundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
        let text = Base64Text.encode(bytes)
        #expect(Data(bytes).base64EncodedData() == Data(text))
        let decoded = Base64Text.decode(text.span, .receipt)
        #expect(decoded == bytes)
    }

    @Test("Every other character is rejected at every position", arguments: [0, 1, 15, 16, 17, 31, 32, 37, 40, 43])
    func rejectedPosition(position: Int) {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text = Array(String(repeating: "QUJD", count: 11).utf8)
        for character in UInt8.min...UInt8.max {
            text[position] = character
            let isPadding = character == UInt8(ascii: "=") && position == 43
            let decoded = Base64Text.decode(text.span, .receipt)
            #expect((decoded != nil) == (alphabet.contains(character) || isPadding), "\(character)")
        }
    }

    @Test("Texts of every length are decoded as Foundation decodes them", arguments: 0...100)
    func lengths(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 151 + count) }
        let text = Array(Data(bytes).base64EncodedData())
        let decoded = Base64Text.decode(text.span, .standard)
        #expect(decoded == bytes)
    }
}
