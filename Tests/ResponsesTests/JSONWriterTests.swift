import Responses
import Testing

@Suite("JSON writer")
struct JSONWriterTests {
    @Test("Commas are written between members and elements, and nowhere else")
    func structure() {
        let json = written { writer in
            writer.beginObject()
            writer.key("empty")
            writer.beginObject()
            writer.endObject()
            writer.key(JSONKey("rows"))
            writer.beginArray()
            writer.value(1)
            writer.value("two")
            writer.beginArray()
            writer.endArray()
            writer.beginObject()
            writer.key(JSONKey("a"))
            writer.null()
            writer.key(JSONKey("b"))
            writer.value(true)
            writer.endObject()
            writer.endArray()
            writer.key("last")
            writer.value(false)
            writer.endObject()
        }
        #expect(json == #"{"empty":{},"rows":[1,"two",[],{"a":null,"b":true}],"last":false}"#)
    }

    @Test(
        "Characters are escaped where JSON requires it, at every position of an eight-byte word",
        arguments: [
            ("", #""""#),
            ("MII/+abc==", #""MII/+abc==""#),
            ("quote \" and \\ backslash", #""quote \" and \\ backslash""#),
            ("1234567\"", #""1234567\"""#),
            ("12345678\"", #""12345678\"""#),
            ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
            ("\u{0}\u{1F}\u{1A}", #""\u0000\u001f\u001a""#),
            ("\u{7F}Größe 価格 🎟", "\"\u{7F}Größe 価格 🎟\""),
        ])
    func escaping(text: String, expected: String) {
        #expect(written { $0.value(text) } == expected)
        #expect(written { $0.key(text) } == expected + ":")
    }

    @Test("Foundation reads every ASCII character unchanged, at any position of a string")
    func everyCharacter() throws {
        for code in UInt8(0)..<128 {
            for offset in 0..<17 {
                let text = String(repeating: "x", count: offset) + String(UnicodeScalar(code)) + "tail of text"
                let read = try JSONReader.strings("[" + written { $0.value(text) } + "]")
                #expect(read == [text])
            }
        }
    }

    @Test("Numbers keep all 64 bits")
    func numbers() {
        let numbers: [Int64] = [0, 7, -1, 10, 9_007_199_254_740_993, .max, .min]
        let json = written { writer in
            writer.beginArray()
            for number in numbers { writer.value(number) }
            writer.endArray()
        }
        #expect(json == "[0,7,-1,10,9007199254740993,9223372036854775807,-9223372036854775808]")
    }

    @Test("Encoded values are joined with commas, and an empty value writes nothing")
    func joined() {
        let json = written { writer in
            writer.beginArray()
            writer.values(json: [UInt8]())
            writer.values(json: Array("1,2".utf8))
            writer.values(json: Array("3".utf8)[...])
            writer.endArray()
        }
        #expect(json == "[1,2,3]")
    }
}
