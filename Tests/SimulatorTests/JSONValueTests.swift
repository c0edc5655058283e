import Simulator
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
}
