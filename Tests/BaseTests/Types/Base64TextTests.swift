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
        """
        The standard form is decoded with its padding, the URL-safe form without; that of receipts accepts unused bits \
        that are set, and nothing else that the standard form rejects
        """,
        arguments: [
            ("QQ==", .standard, [0x41]), ("QUI=", .standard, [0x41, 0x42]), ("QUJD", .standard, [0x41, 0x42, 0x43]),
            ("+/+/", .standard, [0xFB, 0xFF, 0xBF]), ("QQ", .urlSafe, [0x41]), ("QUI", .urlSafe, [0x41, 0x42]),
            ("QUJD", .urlSafe, [0x41, 0x42, 0x43]), ("-_-_", .urlSafe, [0xFB, 0xFF, 0xBF]),
            ("QQ", .standard, nil), ("QQ=", .standard, nil), ("Q===", .standard, nil), ("QR==", .standard, nil),
            ("QUJ=", .standard, nil), ("QQ==\n", .standard, nil), ("-_-_", .standard, nil), ("Q Q=", .standard, nil),
            ("QQ==", .urlSafe, nil), ("Q", .urlSafe, nil), ("QR", .urlSafe, nil), ("+/+/", .urlSafe, nil),
            ("", .receipt, []), ("QQ==", .receipt, [0x41]), ("QR==", .receipt, [0x41]),
            ("QUJ=", .receipt, [0x41, 0x42]), ("QUJD", .receipt, [0x41, 0x42, 0x43]), ("QQ", .receipt, nil),
            ("AA=A", .receipt, nil), ("====", .receipt, nil), ("A===", .receipt, nil), ("QQ==\n", .receipt, nil),
            ("-_-_", .receipt, nil), ("Q Q=", .receipt, nil),
        ] as [(String, Base64Text.Form, [UInt8]?)])
    func decoded(text: String, form: Base64Text.Form, bytes: [UInt8]?) {
        #expect(decode(text, form) == bytes)
    }

    @Test("Encoded bytes are decoded to the same bytes", arguments: 1...40)
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
        let text = Base64Text.encodeURLSafe(bytes)
        let decoded = Base64Text.decode(text.span, .urlSafe)
        #expect(text.count == Base64Text.urlSafeCount(of: count))
        #expect(decoded == bytes)
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
