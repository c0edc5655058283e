import ReceiptBridgeBase
import Testing

@Suite("Outline of a JSON document")
struct JSONOutlineTests {
    @Test("Members and elements are in document order, whatever they contain")
    func order() throws {
        let outline = try JSONOutline(Array(#" {"a":[1,{"b":{}},"x"],"c":null,"d":[]} "#.utf8), maximumNodes: 20)
        let members = Array(outline.children(of: 0))
        #expect(members.map(outline.name) == ["a", "c", "d"])
        #expect(outline.isArray(members[0]) && outline.isNull(members[1]) && outline.isArray(members[2]))
        let elements = Array(outline.children(of: members[0]))
        #expect(elements.map(outline.isObject) == [false, true, false])
        #expect(Array(outline.children(of: elements[1])).map(outline.name) == ["b"])
        #expect(Array(outline.children(of: members[2])) == [])
        #expect(outline.nodes[members[0]].value.whole == 6..<22)
    }

    @Test(
        "The outline rejects the same documents as the scanner",
        arguments: [
            "", "7", "[]", "{", "{}}", "{\"a\"}", "{\"a\":1,}", "{\"a\":[1,]}", "{\"a\":[1 2]}", "{\"a\":tru}",
            "{\"a\":\"\n\"}", "{,}", "{\"a\":{\"b\":1]}", "{\"a\":01}", "{}", "{\"a\":[[],{}]}", "{\"a\":-1.5e3}",
        ])
    func agreement(text: String) {
        let bytes = Array(text.utf8)
        let isObject = (try? JSONObject(bytes)) != nil
        #expect(((try? JSONOutline(bytes, maximumNodes: 20)) != nil) == isObject)
    }

    @Test("The nesting depth and the number of values are limited")
    func limits() {
        let deep = "{\"a\":" + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}"
        #expect(throws: JSONStructureError.self) { try JSONOutline(Array(deep.utf8), maximumNodes: 1_000) }
        #expect(throws: JSONStructureError.self) { try JSONOutline(Array("{\"a\":[1,2,3]}".utf8), maximumNodes: 4) }
        #expect(throws: Never.self) { try JSONOutline(Array("{\"a\":[1,2,3]}".utf8), maximumNodes: 5) }
    }
}
