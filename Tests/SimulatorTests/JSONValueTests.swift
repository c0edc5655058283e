import ReceiptBridgeSimulator
import Testing

@Suite("JSON of the simulator")
struct JSONValueTests {
    @Test("Escapes are read, and control characters are written as escapes")
    func escapes() throws {
        let text = "\"\\\n\u{01}\u{1F} ä 😀"
        #expect(JSONValue.string(text).bytes == Array(#""\"\\\n\u0001\u001f ä 😀""#.utf8))
        #expect(try JSONValue(reading: JSONValue.string(text).bytes) == .string(text))
        #expect(try JSONValue(reading: Array(#""\u00E4\ud83d\uDE00""#.utf8)) == .string("ä😀"))
    }

    @Test(
        "An escape needs four hexadecimal digits, without a sign",
        arguments: [#"\u-000"#, #"\u+041"#, #"\u00 1"#, #"\u004"#, #"\u00g1"#, #"\ud83d\u-e00"#])
    func invalidEscapes(escape: String) {
        #expect(throws: JSONReadingError.self) { try JSONValue(reading: Array("\"\(escape)\"".utf8)) }
    }

    @Test(
        "A JSON document is written as it was read",
        arguments: ["{\"a\":[1,-2,true,null,\"x\\\"\\\\\\n\\u0001é😀\"],\"b\":{}}", "[]", "\"\"", "9007199254740993"])
    func roundTrip(text: String) throws {
        #expect(String(decoding: try JSONValue(reading: Array(text.utf8)).bytes, as: UTF8.self) == text)
    }

    @Test("The last of two equal keys counts, and escapes are decoded")
    func duplicates() throws {
        let value = try JSONValue(reading: Array(" {\"a\": 1, \"a\": \"\\/\\u00e9\\ud83d\\ude00\"} ".utf8))
        #expect(value["a"]?.text == "/é😀")
    }

    @Test(
        "Invalid JSON is an error, never a trap",
        arguments: ["", "{", "{\"a\"", "{\"a\":}", "[1,]", "\"\\u12", "\"\\", "tru", "1 2", "{1:2}", "\"\n\""])
    func malformed(text: String) {
        #expect(throws: JSONReadingError.self) { try JSONValue(reading: Array(text.utf8)) }
    }

    @Test("JSON with too many levels is an error")
    func deep() {
        #expect(throws: JSONReadingError.self) { try JSONValue(reading: Array(repeating: 0x5B, count: 100_000)) }
    }
}
