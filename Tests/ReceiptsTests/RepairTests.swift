import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Repairs of mangled receipts")
struct RepairTests {
    private static func lines(_ text: String) -> String {
        ReceiptEncodingVariant.lines(text, width: 64, separator: "\r\n")
    }

    private static func utf16(_ text: String, bigEndian: Bool) -> [UInt8] {
        text.utf8.flatMap { bigEndian ? [0, $0] : [$0, 0] }
    }

    /// All manglings that the tolerant profile must repair, and the repairs it must report.
    static let manglings: [Shape] = [
        .bytes("line breaks", [.whitespace]) { Array(lines($1).utf8) },
        .bytes("spaces instead of +", [.spaceForPlus], onlyApp: true) { Array($1.replacing("+", with: " ").utf8) },
        .bytes("spaces instead of +, in lines", [.spaceForPlus, .whitespace], onlyApp: true) {
            Array(lines($1.replacing("+", with: " ")).utf8)
        },
        .bytes("spaces instead of line breaks", [.whitespace]) {
            Array(ReceiptEncodingVariant.lines($1, width: 76, separator: " ").utf8)
        },
        .bytes("base64 of base64, with spaces instead of line breaks", [.whitespace, .doubleBase64]) {
            Array(ReceiptEncodingVariant.lines(Base64.encode(Array($1.utf8)), width: 76, separator: " ").utf8)
        },
        .bytes("base64 of lines of base64 that are separated by spaces", [.doubleBase64, .whitespace]) {
            Array(Base64.encode(Array(ReceiptEncodingVariant.lines($1, width: 76, separator: " ").utf8)).utf8)
        },
        .bytes("percent-encoded", [.percentEncoding]) {
            Array((ReceiptEncodingVariant.percentEncoded($1) + "%0A").utf8)
        },
        .bytes("percent-encoded lines", [.percentEncoding, .whitespace]) {
            Array(ReceiptEncodingVariant.percentEncoded(lines($1)).replacing("\r\n", with: "%0d%0a").utf8)
        },
        .bytes("percent-encoded twice", [.doublePercentEncoding]) {
            Array(ReceiptEncodingVariant.percentEncoded($1).replacing("%", with: "%25").utf8)
        },
        .bytes("PEM armor", [.pemArmour, .whitespace]) { Array(ReceiptEncodingVariant.armoured($1).utf8) },
        .bytes("PEM armor without its last line, on one line", [.pemArmour]) {
            Array("-----BEGIN APP STORE RECEIPT-----\n\($1)".utf8)
        },
        .bytes("PEM armor in a JSON string", [.quotes, .jsonEscapes, .pemArmour, .whitespace]) {
            Array("\"\(ReceiptEncodingVariant.armoured($1).replacing("\n", with: "\\n"))\"".utf8)
        },
        .bytes("UTF-16, little-endian with a byte order mark", [.utf16]) {
            [0xFF, 0xFE] + utf16($1, bigEndian: false)
        },
        .bytes("UTF-16, big-endian with a byte order mark", [.utf16]) { [0xFE, 0xFF] + utf16($1, bigEndian: true) },
        .bytes("UTF-16, little-endian without a byte order mark", [.utf16]) { utf16($1 + "\r\n", bigEndian: false) },
        .bytes("UTF-16, big-endian without a byte order mark, in lines", [.utf16, .whitespace]) {
            utf16(lines($1), bigEndian: true)
        },
        .bytes("base64 of UTF-16", [.utf16, .doubleBase64]) {
            [0xFF, 0xFE] + utf16(Base64.encode(Array($1.utf8)), bigEndian: false)
        },
        .bytes("base64url", [.urlSafeAlphabet], onlyApp: true) {
            Array($1.replacing("+", with: "-").replacing("/", with: "_").utf8)
        },
        .bytes("slashes escaped as in JSON", [.jsonEscapes], onlyApp: true) {
            Array($1.replacing("/", with: "\\/").utf8)
        },
        .bytes("line breaks escaped as in JSON", [.jsonEscapes, .whitespace]) {
            Array(lines($1).replacing("\r\n", with: "\\r\\n").utf8)
        },
        .bytes("characters escaped as in JSON for HTML", [.jsonEscapes], onlyApp: true) {
            Array($1.replacing("+", with: "\\u002B").replacing("=", with: "\\u003d").replacing("/", with: "\\/").utf8)
        },
        .bytes("quoted", [.quotes]) { Array("\"\($1)\"\n".utf8) },
        .bytes("single-quoted", [.quotes]) { Array("'\($1)'".utf8) },
        .bytes("base64 of base64", [.doubleBase64]) { Array(Base64.encode(Array($1.utf8)).utf8) },
        .bytes("base64 of lines of base64", [.doubleBase64, .whitespace]) {
            Array(Base64.encode(Array(lines($1).utf8)).utf8)
        },
        .bytes("hexadecimal", [.hexadecimal]) { bytes, _ in Array(ReceiptEncodingVariant.hexadecimal(bytes).utf8) },
        .bytes("hexadecimal with 0x", [.hexadecimal]) { bytes, _ in
            Array("0x\(ReceiptEncodingVariant.hexadecimal(bytes).uppercased())".utf8)
        },
        .bytes("a bytea value of PostgreSQL", [.hexadecimal]) { bytes, _ in
            Array("\\x\(ReceiptEncodingVariant.hexadecimal(bytes))".utf8)
        },
        .bytes("a bytea value of PostgreSQL in quotes, with an escaped backslash", [.quotes, .hexadecimal]) {
            bytes, _ in
            Array("\"\\\\x\(ReceiptEncodingVariant.hexadecimal(bytes))\"".utf8)
        },
        .bytes("a bytea value that contains the base64 in lines", [.hexadecimal, .whitespace]) {
            Array("\\x\(ReceiptEncodingVariant.hexadecimal(Array(lines($1).utf8)))".utf8)
        },
        .bytes("upper-case hexadecimal in lines", [.hexadecimal]) { bytes, _ in
            Array(lines(ReceiptEncodingVariant.hexadecimal(bytes).uppercased()).utf8)
        },
        .bytes("the description of NSData", [.dataDescription]) { bytes, _ in
            Array(ReceiptEncodingVariant.dataDescription(bytes).utf8)
        },
        .bytes("the complete description of NSData since iOS 13", [.dataDescription]) { bytes, _ in
            Array("{length = \(bytes.count), bytes = 0x\(ReceiptEncodingVariant.hexadecimal(bytes)) }".utf8)
        },
        .bytes("a data: URL", [.dataURL]) { Array("data:;base64,\($1)".utf8) },
        .bytes("Unity's wrapper", [.unityWrapper]) {
            Array(ReceiptEncodingVariant.unityWrapper($1, transactionId: "2000000000000301").utf8)
        },
        .bytes("Unity's wrapper around a mangled text", [.unityWrapper, .whitespace]) {
            Array(" {\"Payload\" : \"\(lines($1).replacing("\r\n", with: "\\n"))\"} \n".utf8)
        },
        .bytes("a verifyReceipt request", [.requestWrapper]) {
            Array("{\"receipt-data\":\"\($1.replacing("/", with: "\\/"))\",\"password\":\"secret\"}".utf8)
        },
        .bytes("a verifyReceipt response", [.answerWrapper]) {
            Array("{\"status\":0,\"receipt\":{},\"latest_receipt\":\"\($1)\"}".utf8)
        },
        .bytes("without base64", [.rawBytes]) { bytes, _ in bytes },
        .bytes("a byte order mark", [.byteOrderMark]) { [0xEF, 0xBB, 0xBF] + Array($1.utf8) },
        .bytes("a byte order mark before quotes", [.byteOrderMark, .quotes]) {
            [0xEF, 0xBB, 0xBF] + Array("\"\($1)\"".utf8)
        },
        .bytes("bytes after the container", [.trailingBytes], onlyApp: true) { bytes, _ in
            MintedReceipts.base64(bytes + [0, 0, 0, 0, 7])
        },
        .bytes("without base64, with bytes at the end", [.rawBytes, .trailingBytes], onlyApp: true) { bytes, _ in
            bytes + [0x0A]
        },
        .bytes("half a byte at the end", [.hexadecimal, .trailingBytes], onlyApp: true) { bytes, _ in
            Array((ReceiptEncodingVariant.hexadecimal(bytes) + "0").utf8)
        },
        .bytes("hexadecimal with bytes at the end", [.hexadecimal, .trailingBytes], onlyApp: true) { bytes, _ in
            Array((ReceiptEncodingVariant.hexadecimal(bytes) + "00").utf8)
        },
    ]

    @Test("A mangled receipt is repaired, is still authentic, and the repair is reported", arguments: manglings)
    func mends(mangling: Shape) throws {
        let samples = try ReceiptInputTests.Samples.shared
        let decoder = try Decoders.tolerant
        let stored = try MintedReceipts.decoder(.stored)
        for bytes in mangling.onlyApp ? [samples.app] : [samples.app, samples.transaction] {
            let plain = MintedReceipts.base64(bytes)
            let text = try mangling.wrap(bytes, String(decoding: plain, as: UTF8.self))
            #expect(text != plain)
            for decoder in [decoder, stored] {
                let inspection = decoder.inspect(text.span)
                #expect(inspection.isVerified, "\(inspection.failure as Any)")
                #expect(inspection.repairs == mangling.repairs)
            }
            let receipt = try decoder.decode(text.span)
            let genuine = try decoder.decode(plain.span)
            #expect(receipt.contents == genuine.contents)
            #expect(!receipt.contents.lookupKeys.isEmpty)
            #expect(receipt.canonicalText.reveal() == plain)
            #expect(try Decoders.apple.refusal(ofText: text) != nil || bytes == samples.transaction)
        }
    }

    @Test("Every repair is covered by a test")
    func complete() {
        let tried = Set(
            Self.manglings.flatMap(\.repairs) + ReceiptInputTests.rows.flatMap(\.repairs)
                + ReceiptFinderTests.shapes.flatMap(\.repairs) + MarkedReceiptTests.shapes.flatMap(\.repairs))
        // The notification wrapper contains a JWS and is covered by another test.
        #expect(tried.union([.notificationWrapper]) == Set(ReceiptRepair.allCases))
    }

    @Test("A space at the very end is restored to +")
    func lastPlus() throws {
        var text = ""
        for seed in 0..<4_000 where !text.hasSuffix("+") {
            text = Base64.encode(
                try MintedReceipts.app(
                    content: MintedReceipts.content {
                        $0.purchases = []
                        $0.extraAttributes = [.number(99, Int64(seed % 90)), .number(98, 1)]
                        $0.opaqueSeed = UInt64(2 + seed / 90)
                    }))
        }
        try #require(text.hasSuffix("+"))
        let blanks = Array(text.replacing("+", with: " ").utf8)
        let inspection = try Decoders.tolerant.inspect(blanks.span)
        #expect(inspection.isVerified, "\(inspection.failure as Any)")
        #expect(inspection.repairs == [.spaceForPlus])
        #expect(ReceiptDecoder.repaired(blanks.span) == Array(text.utf8))
    }

    @Test("A signed transaction is reported as such and never verified by the receipt decoder")
    func jws() throws {
        let jws = try MintedReceipts.pki.jwsSigner.jws(payload: JSONValue(["transactionId": "1"]))
        let encoded = Base64.encode(Array(jws.utf8))
        let folded = Self.lines(jws)
        for (text, repairs) in [
            (jws, []), (jws + "\n", []), ("\"\(jws)\"", [.quotes]), (encoded, [.doubleBase64]),
            (folded, [.whitespace]), (Base64.encode(Array(folded.utf8)), [.doubleBase64, .whitespace]),
            (folded.replacing("\r\n", with: "\\n"), [.jsonEscapes, .whitespace]),
            ("{\"signedPayload\":\"\(jws)\"}", [.notificationWrapper]),
        ] as [(String, [ReceiptRepair])] {
            let bytes = Array(text.utf8)
            let inspection = try Decoders.tolerant.inspect(bytes.span)
            #expect(inspection.kind == .jws)
            #expect(inspection.failure?.code == .signedTransaction)
            #expect(inspection.repairs == repairs)
            #expect(inspection.contents == nil)
            #expect(inspection.signedText?.reveal() == jws)
            #expect(ReceiptDecoder.repaired(bytes.span) == nil)
        }
        #expect(try Decoders.apple.refusal(ofText: Array(jws.utf8))?.code == .signedTransaction)
        #expect(try Decoders.apple.refusal(ofText: Array(encoded.utf8))?.code == .notAReceipt)
    }

    @Test("An incomplete data description is reported with the number of bytes that are left")
    func lostDescriptions() throws {
        let bytes = try ReceiptInputTests.Samples.shared.app
        let words = ReceiptEncodingVariant.hexadecimal(Array(bytes.prefix(24)))
        for (text, shown) in [
            (ReceiptEncodingVariant.shortDataDescription(bytes), 24),
            ("{length = \(bytes.count), bytes = 0x\(words) … ab}", 25),
            ("{length = \(bytes.count), bytes = 0x\(words)", 24), ("{length=\(bytes.count),bytes=0x}", 0),
            ("\(bytes.count) bytes", 0),
        ] {
            let inspection = try Decoders.tolerant.inspect(Array(text.utf8).span)
            #expect(
                inspection.failure?.description
                    == "truncatedDescription at text: the description of \(bytes.count) bytes contains only "
                    + "\(shown) of them; the rest is lost")
            #expect(inspection.failure?.verdict == .notAReceipt)
            #expect(inspection.kind == .unknown)
        }
    }

    @Test("A truncated receipt is reported with the offset at which the data ends")
    func cutShort() throws {
        let samples = try ReceiptInputTests.Samples.shared
        func failure(_ text: String) throws -> String? {
            try Decoders.tolerant.inspect(Array(text.utf8).span).failure?.description
        }
        let app = Base64.encode(samples.app)
        for cut in [1_000, 1_001, 1_002, 1_003] {
            #expect(
                try failure(String(app.prefix(cut)))
                    == "truncated at SignedData: the data ends at byte \(cut * 3 / 4), before the end of the container")
        }
        #expect(
            try failure("0x" + ReceiptEncodingVariant.hexadecimal(samples.app).prefix(2_001))
                == "truncated at SignedData: the data ends at byte 1000, before the end of the container")
        #expect(
            try failure(String(Base64.encode(samples.transaction).prefix(801)))
                == "truncated at transactionReceipt: missing closing quote: the data ends at byte 600")
        let indefinite = try MintedReceipts.app { $0.indefiniteLength = true }
        #expect(
            try failure(Base64.encode(Array(indefinite.prefix(900))))
                == "truncated at SignedData: the data ends at byte 900, before the end of the container")
        #expect(
            try failure("eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ")
                == "truncated at text: a JWS without its signature: the data ends at byte 31")
        #expect(try Decoders.apple.refusal(ofText: Array(app.prefix(1_000).utf8))?.code == .truncated)
    }

    @Test("The signed list alone is reported as such in both profiles")
    func purchaseInfoOnly() throws {
        let list = TransactionReceiptEncoder.list(MintedReceipts.purchaseInfo())
        for decoder in [try Decoders.apple, try Decoders.tolerant] {
            let text = MintedReceipts.base64(list)
            #expect(decoder.refusal(ofText: text)?.code == .purchaseInfoOnly)
            #expect(decoder.inspect(text.span).kind == .unknown)
            #expect(!decoder.inspect(text.span).isVerified)
        }
    }

    @Test("A forged receipt is rejected with the same error after a repair", arguments: manglings)
    func forged(mangling: Shape) throws {
        #expect(try Decoders.tolerant.refusal(ofText: mangling.forged())?.code == .badSignature)
    }

    // T13
    @Test("JSON of very many numbers takes little more memory than the text")
    func numbers() async throws {
        // In a process of its own, because the system knows the memory of a process only.
        await #expect(processExitsWith: .success) {
            let size = TestSize.pick(
                debug: (numbers: 500_000, limit: 12 << 20), release: (numbers: 1_500_000, limit: 32 << 20))
            let text = Array((#"{"a":["# + String(repeating: "1,", count: size.numbers) + "1]}").utf8)
            let decoder = try Decoders.tolerant
            _ = decoder.refusal(ofText: Array(#"{"a":[1]}"#.utf8))
            Memory.resetPeak()
            let before = Memory.peak
            let refusal = decoder.refusal(ofText: text)
            #expect(refusal?.code == .notAReceipt && refusal?.reason == "JSON that contains no receipt")
            let growth = Memory.peak - before
            #expect(growth < size.limit || Memory.isSanitized, "\(growth)")
        }
    }

    @Test("The last of several members of the same name counts, and a member that is not a string is ignored")
    func members() throws {
        let base64 = Base64.encode(try MintedReceipts.app())
        for (text, code) in [
            (#"{"Payload":"MIIA","Payload":"\#(base64)"}"#, nil),
            (#"{"Payload":"\#(base64)","Payload":"AAAA"}"#, .notAReceipt),
            (#"{"Payload":5,"receipt-data":"\#(base64)"}"#, nil),
            (#"{"latest_receipt":"\#(base64)","receipt":{"in_app":[{"Payload":"AAAA"}]}}"#, nil),
            (#"{"receipt\u002ddata":"\#(base64)"}"#, nil),
            (#"{"receipt-data":"\#(base64)""#, .notAReceipt), (#"{"receipt-data":"\#(base64)"} {}"#, .notAReceipt),
        ] as [(String, ReceiptDecodingError.Code?)] {
            #expect(try Decoders.tolerant.refusal(ofText: Array(text.utf8))?.code == code, "\(text.prefix(60))")
        }
    }

    @Test(
        "A search for texts in a text of megabytes takes little more time than decoding it",
        arguments: ["-----BEGIN A-----", "{="])
    func search(beginning: String) throws {
        let decoder = try MintedReceipts.decoder(.stored)
        func time(_ beginning: String) -> Duration? {
            let text = Array(
                (beginning + String(repeating: "a", count: TestSize.pick(debug: 20_000, release: 1_000_000))).utf8)
            return (0..<3).map { _ in timed { decoder.refusal(ofText: text) }.1 }.min()
        }
        // Without optimization, bytes are compared by calls.
        let factor = TestSize.pick(debug: 40, release: 4)
        #expect(try #require(time(beginning)) < #require(time("")) * factor)
    }

    @Test(
        "Deeply nested and repeated input takes little time",
        arguments: [
            "[", "{\"a\":", "\\", "%", "<", "\"", " ", "+ ", "-", "30", "%25", "0x", "\\x30", "eyJ.",
            "{length = 1, bytes = 0x",
            "-----BEGIN ", "M\u{0}",
        ])
    func bombs(piece: String) throws {
        let text = Array("{\"Payload\":\"".utf8) + [UInt8](repeating: 0x41, count: 400)
        let count = TestSize.pick(debug: 50_000, release: 400_000)
        let bombs = [
            Array(String(repeating: piece, count: count).utf8),
            Array(("{\"a\":" + String(repeating: piece, count: count / 2)).utf8),
            text + Array(String(repeating: piece, count: count / 2).utf8),
        ]
        for bomb in bombs {
            let (outcome, elapsed) = try timed { try Decoders.tolerant.refusal(ofText: bomb) }
            #expect(outcome != nil)
            #expect(elapsed < .seconds(8))
        }
    }
}
