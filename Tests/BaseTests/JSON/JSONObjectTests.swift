import ReceiptBridgeBase
import Testing

@Suite("JSON object read in place")
struct JSONObjectTests {
    private static let sample = """
        {"text":"a\\u00e9\\n\\ud83d\\ude00","integer":-9223372036854775808,"date":1697679936049.7297,"flag":false,
        "texts":["x","\\/",""],"object":{"inner":{"deep":[1,2,{"a":null}]}},"objects":[{"a":1},{"a":2}],"null":null}
        """

    private func readAll(_ object: JSONObject) {
        for name in ["text", "integer", "date", "flag", "texts", "object", "objects", "null"] as [StaticString] {
            _ = try? object.text(name)
            _ = try? object.integer(name)
            _ = try? object.milliseconds(name)
            _ = try? object.flag(name)
            _ = try? object.texts(name)
            _ = try? object.object(name)
            _ = try? object.objects(name)
        }
    }

    @Test("An accessor returns a value of its own type and rejects every other type")
    func values() throws {
        let object = try JSONObject(Array(Self.sample.utf8))
        #expect(try object.text("text") == "aé\n😀")
        #expect(try object.integer("integer") == .min)
        #expect(try object.milliseconds("date") == 1_697_679_936_049)
        #expect(try object.flag("flag") == false)
        #expect(try object.texts("texts") == ["x", "/", ""])
        #expect(try object.object("object")?.object("inner")?.has("deep") == true)
        #expect(try object.objects("objects")?.map { try $0.integer("a") } == [1, 2])
        #expect(try object.text("null") == nil && !object.has("null"))
        #expect(try object.text("absent") == nil)
        for name in ["integer", "flag", "texts", "object"] as [StaticString] {
            let error = #expect(throws: JSONFieldError.self) { try object.text(name) }
            #expect(error?.name == "\(name)")
        }
        #expect(throws: JSONFieldError.self) { try object.integer("text") }
        #expect(throws: JSONFieldError.self) { try object.texts("objects") }
        #expect(throws: JSONFieldError.self) { try object.objects("texts") }
    }

    @Test("Truncated and changed bytes never cause a trap")
    func mutations() throws {
        let bytes = Array(Self.sample.utf8)
        for end in bytes.indices {
            #expect(throws: JSONStructureError.self) { try JSONObject(Array(bytes[..<end])) }
        }
        for offset in bytes.indices {
            for byte in [0x00, 0x22, 0x2C, 0x2D, 0x30, 0x5B, 0x5C, 0x5D, 0x6E, 0x75, 0x7B, 0x7D, 0x80, 0xFF] as [UInt8]
            {
                var changed = bytes
                changed[offset] = byte
                if let object = try? JSONObject(changed) { readAll(object) }
            }
        }
    }

    @Test("An object with too many levels is rejected")
    func depth() {
        let deep = "{\"a\":" + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}"
        #expect(throws: JSONStructureError.self) { try JSONObject(Array(deep.utf8)) }
    }
}
