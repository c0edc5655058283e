import ReceiptBridgeBase
import Foundation
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
            for offset in 0..<80 {
                let text = String(repeating: "x", count: offset) + String(UnicodeScalar(code)) + "tail of text"
                let read = try JSONDecoder().decode([String].self, from: Data("[\(written { $0.value(text) })]".utf8))
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

    @Test("Numbers around every power of ten are written as Swift writes them")
    func powersOfTen() {
        var power: Int64 = 1
        for _ in 0..<19 {
            for number in [power - 1, power, power + 1, power * 7, power &* 9 &+ power / 3] {
                #expect(written { $0.value(number) } == String(number))
                #expect(written { $0.value(0 &- number) } == String(0 &- number))
            }
            power &*= 10
        }
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

    @Test("A missing value is null, and a member that is written only if present is left out")
    func members() {
        let json = JSONWriter.object { writer in
            writer.member("text", "a")
            writer.member("noText", nil as String?)
            writer.member("number", 7)
            writer.member("noNumber", nil as Int64?)
            writer.member("flag", true)
            writer.member("texts", ["a", "b"])
            writer.member("counts", ["b": 2, "a": 1])
            writer.member("json", json: Array("[1]".utf8))
            writer.member("noJSON", json: [])
            writer.member("absent", ifPresent: nil as String?)
            writer.member("absent", ifPresent: nil as Int64?)
            writer.member("absent", ifPresent: nil as Bool?)
            writer.member("absent", ifPresent: [])
            writer.object("object") { $0.member("present", ifPresent: false) }
            writer.array("array", [1, 2]) { $0.value($1) }
        }
        let expected = """
            {"text":"a","noText":null,"number":7,"noNumber":null,"flag":true,"texts":["a","b"],\
            "counts":{"a":1,"b":2},"json":[1],"noJSON":null,"object":{"present":false},"array":[1,2]}
            """
        #expect(String(decoding: json, as: UTF8.self) == expected)
    }

    @Test("Keys and strings in UTF-8 are written like texts")
    func utf8() {
        let json = JSONWriter.object {
            $0.key(utf8: Array("a\"é".utf8))
            $0.value(utf8: Array("\u{1}/é".utf8))
        }
        #expect(String(decoding: json, as: UTF8.self) == #"{"a\"é":"\u0001/é"}"#)
    }
}

private func written(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.finish(), as: UTF8.self)
}
