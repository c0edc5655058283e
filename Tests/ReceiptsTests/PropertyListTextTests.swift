import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// These tests use receipts whose signed list is chosen freely, so that the parsed list is also the signed one.
@Suite("Property list of a transactionReceipt")
struct PropertyListTextTests {
    private static let usual = "\"bid\" = \"com.example.app\"; \"purchase-date-ms\" = \"1709294400000\";"

    private func read(_ list: String) throws -> TransactionReceipt {
        try transactionReceipt(MintedReceipts.transaction(signing: Array(list.utf8)))
    }

    static let layouts: [(name: String, list: String)] = [
        ("tabs", "{\n\t\"bid\" = \"com.example.app\";\n\t\"purchase-date-ms\" = \"1709294400000\";\n}"),
        ("one line", "{\"bid\" = \"com.example.app\"; \"purchase-date-ms\" = \"1709294400000\";}"),
        ("no spaces", "{\"bid\"=\"com.example.app\";\"purchase-date-ms\"=\"1709294400000\";}"),
        ("no last semicolon", "{\"bid\" = \"com.example.app\"; \"purchase-date-ms\" = \"1709294400000\"}"),
        ("words", "{bid = com.example.app; purchase-date-ms = 1709294400000;}"),
        ("CR LF", "{\r\n\t\"bid\"\r\n=\r\n\"com.example.app\"\r\n;\r\npurchase-date-ms = 1709294400000;\r\n}\r\n"),
        (
            "escapes",
            "{\"b\\151d\" = \"com.e\\170ample.app\"; \"purchase-date-ms\" = \"17\\060929\\0644\\060\\060000\";}"
        ),
        ("space around", " \t\r\n{\(usual)} \t\r\n"),
    ]

    @Test("The layout of the list does not matter", arguments: layouts)
    func layout(name: String, list: String) throws {
        let receipt = try read(list)
        #expect(receipt.purchaseInfo.map(\.key) == ["bid", "purchase-date-ms"])
        #expect(receipt.purchaseInfo.map(\.value) == ["com.example.app", "1709294400000"])
    }

    @Test("Escapes are replaced, and all other characters in quotes are kept")
    func escapes() throws {
        let receipt = try read("{\(Self.usual) a = \"\\\"\\\\\\n\\r\\t\\101\\177;={}()<>/*ä€😀\"; b = \"\";}")
        #expect(receipt["a"] == "\"\\\n\r\tA\u{7F};={}()<>/*ä€😀")
        #expect(receipt["b"] == "")
    }

    static let broken: [(name: String, list: String, code: ReceiptDecodingError.Code)] = [
        ("a repeated key", "{\(usual) \"bid\" = \"com.example.other\";}", .unknownStructure),
        ("a repeated key, escaped", "{\(usual) \"\\142id\" = \"com.example.other\";}", .unknownStructure),
        ("a dictionary inside", "{\(usual) a = {b = c;};}", .unknownStructure),
        ("an array", "{\(usual) a = (1, 2);}", .unknownStructure),
        ("data", "{\(usual) a = <0a0b>;}", .unknownStructure),
        ("a comment", "{\(usual) /* a */ }", .unknownStructure),
        ("no closing quote", "{\(usual) a = \"b;}", .truncated),
        ("no closing quote after an escape", "{\(usual) a = \"b\\", .truncated),
        ("no opening quote", "{\(usual) a = b\";}", .unknownStructure),
        ("no value", "{\(usual) a = ;}", .unknownStructure),
        ("no equals sign", "{\(usual) a b;}", .unknownStructure),
        ("no key", "{\(usual) = b;}", .unknownStructure),
        ("two semicolons", "{\(usual); a = b;}", .unknownStructure),
        ("no semicolon between", "{\"bid\" = \"a\" \"b\" = \"c\";}", .unknownStructure),
        ("no closing brace", "{\(usual)", .truncated),
        ("a Unicode escape", "{\(usual) a = \"\\U00e9\";}", .unknownStructure),
        ("an octal escape above ASCII", "{\(usual) a = \"\\200\";}", .unknownStructure),
        ("an incomplete octal escape", "{\(usual) a = \"\\10\";}", .unknownStructure),
        ("an invalid octal escape", "{\(usual) a = \"\\189\";}", .unknownStructure),
        ("data after the list", "{\(usual)} {}", .trailingBytes),
        ("a second list", "{\(usual)}{\(usual)}", .trailingBytes),
        ("a zero byte at the end", "{\(usual)}\0", .trailingBytes),
        ("empty text", "", .truncated),
        ("an empty list", "{}", .missingAttribute),
        ("an array instead of a list", "(a, b)", .unknownStructure),
    ]

    @Test("An ambiguous or malformed list is rejected", arguments: broken)
    func refuses(name: String, list: String, code: ReceiptDecodingError.Code) throws {
        let bytes = try MintedReceipts.transaction(signing: Array(list.utf8))
        #expect(try Decoders.apple.refusal(of: bytes)?.code == code)
        // The outer list is parsed by the same rules.
        let outer = Array(list.replacing("bid", with: "purchase-info").utf8)
        #expect(try Decoders.apple.refusal(of: outer) != nil)
    }

    @Test("Text that is not UTF-8 is rejected", arguments: ["{bid = \"\u{1}\";}", "{\"\u{1}\" = a;}"])
    func encoding(list: String) throws {
        let bytes = Array(list.utf8).map { $0 == 1 ? 0xFF : $0 }
        #expect(try Decoders.apple.refusal(of: MintedReceipts.transaction(signing: bytes))?.code == .unknownStructure)
    }

    @Test("A list truncated at any offset is rejected")
    func truncation() throws {
        let list = Array(
            "{\n\t\"bid\" = \"com.ex\\141mple.app\";\n\ta = b;\n\t\"purchase-date-ms\" = \"1709294400000\"\n}".utf8)
        #expect(try read(String(decoding: list, as: UTF8.self))["bid"] == "com.example.app")
        for count in 0..<list.count {
            let bytes = try MintedReceipts.transaction(signing: Array(list.prefix(count)))
            #expect(try Decoders.apple.refusal(of: bytes)?.code == .truncated, "\(count)")
        }
    }

    @Test("A list has at most 256 entries, and rejecting a hundred thousand takes little time")
    func many() throws {
        func list(_ count: Int) -> String { "{\(Self.usual)\((0..<count - 2).map { "k\($0)=v;" }.joined())}" }
        #expect(try read(list(256)).purchaseInfo.count == 256)
        for count in [257, 100_000] {
            let bytes = try MintedReceipts.transaction(signing: Array(list(count).utf8))
            let (outcome, elapsed) = try timed { try Decoders.apple.refusal(of: bytes)?.code }
            #expect(outcome == .tooMany)
            #expect(elapsed < .seconds(5))
        }
    }

    @Test("A value may have a million bytes, plain or escaped", arguments: ["a", "\\\\"])
    func long(piece: String) throws {
        let bytes = try MintedReceipts.transaction(
            signing: Array("{\(Self.usual)\"product-id\" = \"\(String(repeating: piece, count: 1_000_000))\";}".utf8))
        let (outcome, elapsed) = try timed { try transactionReceipt(bytes).productId?.utf8.count }
        #expect(outcome == 1_000_000)
        #expect(elapsed < .seconds(8))
    }

    @Test("Two megabytes of whitespace take little time")
    func white() throws {
        let bytes = Array("{\(String(repeating: " \t\r\n", count: 500_000))".utf8)
        let (outcome, elapsed) = try timed { try Decoders.apple.refusal(of: bytes)?.code }
        #expect(outcome == .truncated)
        #expect(elapsed < .seconds(8))
    }
}
