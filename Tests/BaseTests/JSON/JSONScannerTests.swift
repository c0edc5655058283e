import ReceiptBridgeBase
import Testing

@Suite("JSON scanner")
struct JSONScannerTests {
    private func members(_ bytes: [UInt8], valueDepth: Int = 63) throws(JSONStructureError) -> [JSONScanner.Member] {
        var scanner = JSONScanner(valueDepth: valueDepth)
        var members: [JSONScanner.Member] = []
        try scanner.scanDocument(bytes.span) { members.append($0) }
        return members
    }

    /// Returns the error message for a document; `nil` if it is valid.
    private func reason(_ bytes: [UInt8]) -> String? {
        do throws(JSONStructureError) {
            _ = try members(bytes)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("Members are passed on unchanged and in order, repeated names included")
    func order() throws {
        let text = #" {"a" : 1, "b":[ {"a":0} ], "a":"x","":{}, "\u0061":null, "c":-1.5e+10}"# + "\r\n"
        let bytes = Array(text.utf8)
        let found = try members(bytes)
        func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        #expect(found.map { part($0.name.range) } == ["a", "b", "a", "", #"\u0061"#, "c"])
        #expect(found.map { part($0.value.whole) } == ["1", #"[ {"a":0} ]"#, #""x""#, "{}", "null", "-1.5e+10"])
        #expect(found.map { $0.name.matches("a", in: bytes.span) } == [true, false, true, false, true, false])
        #expect(found.map(\.name.isEscaped) == [false, false, false, false, true, false])
    }

    @Test("Leaves are passed on in order with their names and depths, and containers without containers in them")
    func leaves() throws {
        func leaves(_ text: String) -> [String] {
            let bytes = Array(text.utf8)
            func part(_ range: Range<Int>?) -> String {
                range.map { String(decoding: bytes[$0], as: UTF8.self) } ?? "-"
            }
            var found: [String] = []
            var scanner = JSONScanner()
            do throws(JSONStructureError) {
                try scanner.scanLeaves(bytes.span) {
                    let names = "\(part($0.containerName?.range)).\(part($0.name?.range))"
                    found.append("\($0.depth) \(names) \(part($0.value.whole))")
                }
            } catch {
                found.append(error.description)
            }
            return found
        }
        #expect(
            leaves(#" {"a":{"b":1,"c":["x", null]},"d":[ ]} "#)
                == ["2 a.b 1", #"3 c.- "x""#, "3 c.- null", #"2 -.c ["x", null]"#, "1 -.d [ ]"])
        #expect(leaves("[true,[2]]") == ["1 -.- true", "2 -.- 2", "1 -.- [2]"])
        #expect(leaves(#"{"a":1,"b":"#).first == "1 -.a 1")
        #expect(leaves(#"{"a":1} x"#).count == 3 && leaves("1").count == 1)
    }

    @Test("All numbers and literals of the grammar are accepted, and no others")
    func scalars() {
        let good = ["0", "-0", "10", "1.0", "-1.50", "1e5", "1E+05", "0.1e-2", "true", "false", "null"]
        let bad = [
            "", "00", "01", "-", "--1", "+1", "1.", ".5", "1e", "1e+", "1.e1", "0x1", "tru", "truee", "True", "NaN",
        ]
        for text in good {
            #expect(reason(Array(#"{"a":\#(text)}"#.utf8)) == nil, "\(text)")
            #expect(reason(Array(#"{"a":[{"b":\#(text) }]}"#.utf8)) == nil, "\(text)")
        }
        for text in bad {
            #expect(reason(Array(#"{"a":\#(text)}"#.utf8)) != nil, "\(text)")
            #expect(reason(Array(#"{"a":[{"b":\#(text) }]}"#.utf8)) != nil, "\(text)")
        }
    }

    @Test("The end of a string and forbidden characters in it are found at every offset")
    func strings() throws {
        for length in 0...40 {
            // The bytes next to the ones that end plain text, and the highest bytes.
            let plain = (0..<length).map {
                [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xA2, 0xDC, 0xFF][$0 % 10] as UInt8
            }
            for trailing in [0, 1, 7, 8, 9] {
                func document(_ inside: [UInt8]) -> [UInt8] {
                    Array(#"{"a":""#.utf8) + plain + inside + Array(repeating: 0x61, count: trailing)
                        + Array(#""}"#.utf8)
                }
                let found = try members(document([]))
                #expect(found.map(\.value.whole) == [5..<7 + length + trailing])
                let escaped = try members(document(Array(#"\""#.utf8)))
                #expect(escaped.map(\.value.whole) == [5..<9 + length + trailing])
                for control in 0..<0x20 as Range<UInt8> {
                    #expect(
                        reason(document([control]))
                            == "byte \(6 + length): expected no control character in a string")
                }
            }
        }
    }

    @Test(
        "Anything but a single object is rejected with the offset of the error",
        arguments: [
            ("", "byte 0: expected a JSON object"), ("<html>", "byte 0: expected a JSON object"),
            ("0", "byte 0: expected a JSON object"), (#"[{"status":0}]"#, "byte 0: expected a JSON object"),
            ("\u{FEFF}{}", "byte 0: expected a JSON object"), (#"{"status":0"#, "byte 11: expected a comma or }"),
            (#"{"status":0}}"#, "byte 12: expected nothing after the object"),
            (#"{"status":0}{"status":1}"#, "byte 12: expected nothing after the object"),
            (#"{"status":0,}"#, "byte 12: expected a string"), (#"{status:0}"#, "byte 1: expected a string"),
            (#"{"status" 0}"#, "byte 10: expected a colon"), (#"{"status":}"#, "byte 10: expected a value"),
            (#"{"status":00}"#, "byte 11: expected a comma or }"), (#"{"status":-}"#, "byte 11: expected a digit"),
            (#"{"status":1.}"#, "byte 12: expected a digit"), (#"{"status":1e}"#, "byte 12: expected a digit"),
            (#"{"status":+1}"#, "byte 10: expected a value"), (#"{"status":NaN}"#, "byte 10: expected a value"),
            (#"{"status":tru}"#, "byte 13: expected a value"), (#"{"a":"b"#, "byte 7: expected the end of a string"),
            (#"{"a":"\x"}"#, "byte 7: expected an escape"), (#"{"a":"\u00g0"}"#, "byte 10: expected a hex digit"),
            ("{\"a\":\"\n\"}", "byte 6: expected no control character in a string"),
            (#"{"a":[1,]}"#, "byte 8: expected a value"), (#"{"a":[1}"#, "byte 7: expected a comma or ]"),
            (#"{"a":{"b":1]}"#, "byte 11: expected a comma or }"), (#"{"a":{,}}"#, "byte 6: expected a string"),
            (#"{"a":"\"#, "byte 7: expected an escape"),
        ])
    func refused(text: String, description: String) { #expect(reason(Array(text.utf8)) == description) }

    // T9
    @Test("64 levels are accepted and 65 are rejected; a million levels cost nothing", arguments: ["[", #"{"a":"#])
    func nesting(opening: String) throws {
        func nested(_ levels: Int) -> [UInt8] {
            let closing = opening == "[" ? "]" : "}"
            let inside = String(repeating: opening, count: levels) + "1" + String(repeating: closing, count: levels)
            return Array("{\"a\":\(inside),\"status\":0}".utf8)
        }
        #expect(try members(nested(63)).count == 2)
        #expect(reason(nested(64))?.hasSuffix("expected less nesting") == true)
        #expect(reason(nested(1_000_000))?.hasSuffix("expected less nesting") == true)
        #expect(reason(Array(String(repeating: opening, count: 1_000_000).utf8)) != nil)
    }

    @Test("A value may have as many levels as configured, at most 64", arguments: [(1, 1), (64, 64), (100, 64)])
    func valueDepth(configured: Int, levels: Int) throws {
        for (opening, closing) in [("[", "]"), (#"{"a":"#, "}")] {
            func nested(_ levels: Int) -> [UInt8] {
                let value = String(repeating: opening, count: levels) + "1" + String(repeating: closing, count: levels)
                return Array(#"{"a":\#(value)}"#.utf8)
            }
            #expect(try members(nested(levels), valueDepth: configured).count == 1)
            #expect(throws: JSONStructureError.self) { try members(nested(levels + 1), valueDepth: configured) }
        }
    }
}
