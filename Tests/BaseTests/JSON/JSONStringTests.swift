import ReceiptBridgeBase
import Testing

@Suite("JSON string")
struct JSONStringTests {
    /// Reads the string with these contents: its unescaped bytes, in which unpaired surrogates are replaced, and its
    /// text.
    private func read(_ inside: [UInt8]) throws -> (unescaped: [UInt8], text: String?) {
        let bytes = Array(#"{"":""#.utf8) + inside + Array(#""}"#.utf8)
        var found: JSONString?
        var scanner = JSONScanner()
        try scanner.scanDocument(bytes.span) { member in
            if case .string(let string) = member.value { found = string }
        }
        let string = try #require(found)
        return (string.unescaped(in: bytes.span), string.text(in: bytes.span))
    }

    @Test(
        "Escapes are replaced by their characters; with an unpaired surrogate, U+FFFD in the bytes, there is no text",
        arguments: [
            ("", ""), ("plain é", "plain é"), (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#"\u0041\u00e9\u00C9\u20ac\u0000"#, "Aé\u{C9}€\u{0}"), (#"\ud83d\ude00\uD83D\uDE00"#, "😀😀"),
            (#"a long text with\/one escape in the middle"#, "a long text with/one escape in the middle"),
            (#"\\u0041"#, #"\u0041"#),
            (#"\ud800"#, "\u{FFFD}"), (#"\udc00"#, "\u{FFFD}"), (#"a\ud800b"#, "a\u{FFFD}b"),
            (#"\ud800\ud83d\ude00"#, "\u{FFFD}😀"), (#"\ud800\u0041"#, "\u{FFFD}A"), (#"\ud800\n"#, "\u{FFFD}\n"),
            (#"\udc00\ud800"#, "\u{FFFD}\u{FFFD}"),
        ])
    func escapes(inside: String, meaning: String) throws {
        let (unescaped, text) = try read(Array(inside.utf8))
        #expect(unescaped == Array(meaning.utf8))
        #expect(text == (meaning.contains("\u{FFFD}") ? nil : meaning))
    }

    @Test(
        "A string whose bytes are not UTF-8 has no text",
        arguments: [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0x61, 0xC3]])
    func notUnicode(bytes: [UInt8]) throws {
        let plain = try read(bytes)
        #expect(plain.unescaped == bytes && plain.text == nil)
        let escaped = try read(bytes + Array(#"\n"#.utf8))
        #expect(escaped.unescaped == bytes + [0x0A] && escaped.text == nil)
    }

    @Test("Quotes, escapes and control characters are found at every position of a long string")
    func positions() throws {
        for offset in 0..<200 {
            let (before, after) = (
                [UInt8](repeating: 0x21, count: offset), [UInt8](repeating: 0xC2, count: 200 - offset)
            )
            #expect(try read(before + Array(#"\n"#.utf8) + after).unescaped == before + [0x0A] + after)
            #expect(throws: JSONStructureError.self) { try read(before + [0x1F] + after) }
            #expect(throws: JSONStructureError.self) { try read(before + [0x22] + after) }
            #expect(try read(before + [0x20, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xA2, 0xDC] + after).unescaped.count == 208)
        }
    }
}
