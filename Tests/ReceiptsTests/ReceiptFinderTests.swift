import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Receipts inside other data")
struct ReceiptFinderTests {
    static func hex(_ bytes: [UInt8], separator: String = "") -> String {
        bytes.map { Hexadecimal.text(of: [$0]) }.joined(separator: separator)
    }

    static func decimals(_ bytes: [UInt8], separator: String = ", ") -> String {
        bytes.map { "\($0)" }.joined(separator: separator)
    }

    /// The bytes as Python prints them inside quotes.
    static func printed(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            switch byte {
            case 0x0A: "\\n"
            case 0x09: "\\t"
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\" + String(UnicodeScalar(byte))
            case 0x20..<0x7F: String(UnicodeScalar(byte))
            default: "\\x" + Hexadecimal.text(of: [byte])
            }
        }.joined()
    }

    static func json(_ text: String) -> String { String(decoding: JSONValue.string(text).bytes, as: UTF8.self) }

    static func compressed(_ bytes: [UInt8], level: Int = 6) throws -> [UInt8] {
        let folder = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-\(level)", try folder.write("data", bytes)]
        try process.run()
        process.waitUntilExit()
        return try folder.read("data.gz")
    }

    static let shapes: [Shape] = [
        .text("a version 1 notification", [.jsonMember]) {
            #"{"notification_type":"DID_RENEW","unified_receipt":{"status":0,"latest_receipt":"\#($1)"}}"#
        },
        .text("a member of any name, three levels down", [.jsonMember]) { #"{"a":{"b":[{"c":"\#($1)"}]}}"# },
        .text("a verifyReceipt request that was cut off after the receipt", [.requestWrapper]) {
            #"{"receipt-data":"\#($1)","password":"#
        },
        .text("an array", [.jsonMember]) { #"["x", "\#($1)"]"# },
        .text("JSON in JSON in JSON", [.jsonMember]) { json(#"{"data":\#(json(#"{"r":"\#($1)"}"#))}"#, in: "body") },
        .text("MongoDB's binary", [.jsonMember]) { #"{"$binary":{"base64":"\#($1)","subType":"00"}}"# },
        .text("MongoDB's older binary", [.jsonMember]) { #"{"$binary":"\#($1)","$type":"00"}"# },
        .text("MongoDB's shell", [.literal]) { #"BinData(0, "\#($1)")"# },
        .text("DynamoDB's text", [.jsonMember]) { #"{"S":"\#($1)"}"# },
        .text("DynamoDB's map", [.jsonMember]) { #"{"Item":{"p":{"M":{"receipt":{"B":"\#($1)"}}}}}"# },
        .text("Node's Buffer in JSON", [.jsonMember, .byteList]) { bytes, _ in
            #"{"type":"Buffer","data":[\#(decimals(bytes))]}"#
        },
        .text("Node's Buffer of the text in JSON", [.jsonMember, .byteList]) {
            #"{"receipt":{"type":"Buffer","data":[\#(decimals(Array($1.utf8), separator: ","))]}}"#
        },
        .text("a Uint8Array in JSON", [.jsonMember, .byteList]) { bytes, _ in
            "{\(bytes.enumerated().map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
        },
        .text("signed bytes of Java in JSON", [.jsonMember, .byteList]) { bytes, _ in
            "[\(bytes.map { "\(Int8(bitPattern: $0))" }.joined(separator: ","))]"
        },
        .text("Node's Buffer, printed", [.dataDescription]) { bytes, _ in "<Buffer \(hex(bytes, separator: " "))>" },
        .text("Node's Buffer of the text, printed", [.dataDescription]) {
            "<Buffer \(hex(Array($1.utf8), separator: " "))>"
        },
        .text("Go's bytes, printed", [.byteList]) { bytes, _ in "[\(decimals(bytes, separator: " "))]" },
        .text("Elixir's bytes, printed", [.byteList]) { bytes, _ in "<<\(decimals(bytes))>>" },
        .text("an array of C", [.hexadecimal]) { bytes, _ in "{0x\(hex(bytes, separator: ", 0x"))}" },
        .text("hexadecimal with colons", [.hexadecimal]) { bytes, _ in hex(bytes, separator: ":").uppercased() },
        .text("bytes of Python", [.literal]) { "b'\($1)'" },
        .text("bytes of Python in double quotes", [.literal]) { "b\"\($1)\"" },
        .text("bytes of Python without base64", [.literal, .jsonEscapes, .rawBytes]) { bytes, _ in
            "b'\(printed(bytes))'"
        },
        .text("a dictionary of Python", [.literal]) { "{'receipt': '\($1)', 'password': None}" },
        .text("an optional of Swift", [.literal]) { "Optional(\"\($1)\")" },
        .text("a literal of SQL", [.hexadecimal]) { bytes, _ in "X'\(hex(bytes))'" },
        .text("a literal of SQL with the text", [.hexadecimal]) { "x'\(hex(Array($1.utf8)))'" },
        .text("a bytea value of PostgreSQL with its type", [.literal, .hexadecimal]) { bytes, _ in
            "'\\x\(hex(bytes))'::bytea"
        },
        .text("an XML property list", [.literal, .whitespace]) {
            "<plist><data>\n\(ReceiptEncodingVariant.lines($1, width: 68, separator: "\n"))\n</data></plist>"
        },
        .text("a form", [.formBody]) {
            "password=a%26b&receipt-data=\(ReceiptEncodingVariant.percentEncoded($1))&exclude-old-transactions=true"
        },
        .text("JSON in a form", [.formBody, .jsonMember]) {
            "payload=%7B%22r%22%3A%22\(ReceiptEncodingVariant.percentEncoded($1))%22%7D"
        },
        .text("percent-encoded JSON", [.percentEncoding, .requestWrapper]) {
            "%7B%22receipt-data%22%3A%22\(ReceiptEncodingVariant.percentEncoded($1))%22%7D"
        },
        .text("base64 of JSON", [.doubleBase64, .jsonMember]) { Base64.encode(Array(#"{"r":"\#($1)"}"#.utf8)) },
        .text("compressed", [.compressed]) { bytes, _ in Base64.encode(try compressed(bytes)) },
        .text("compressed text", [.compressed]) { Base64.encode(try compressed(Array($1.utf8), level: 1)) },
        .text("compressed with zlib", [.compressed]) { bytes, _ in
            Base64.encode([0x78, 0x9C] + (try compressed(bytes)).dropFirst(15).dropLast(8))
        },
        .text("hexadecimal of compressed JSON", [.hexadecimal, .compressed, .jsonMember]) {
            "\\x" + hex(try compressed(Array(#"{"r":"\#($1)"}"#.utf8), level: 9))
        },
        .text("bytes that were converted from Latin-1", [.latin1]) { bytes, text in
            bytes[0] == 0x30 ? String(decoding: bytes.map(UInt16.init), as: UTF16.self) : "<r>\(text)</r>"
        },
    ]

    static func json(_ text: String, in member: String) -> String { "{\"\(member)\":\(json(text))}" }

    private static let decoder = Result { try MintedReceipts.decoder(.stored) }

    @Test("A receipt is found in what libraries and stores make of it, and the repairs are reported", arguments: shapes)
    func finds(shape: Shape) throws {
        let samples = try ReceiptInputTests.Samples.shared
        let decoder = try Self.decoder.get()
        for bytes in [samples.app, samples.transaction] {
            let plain = MintedReceipts.base64(bytes)
            let text = try shape.wrap(bytes, String(decoding: plain, as: UTF8.self))
            let inspection = decoder.inspect(text.span)
            #expect(inspection.isVerified, "\(inspection.failure as Any)")
            let isXML = shape.repairs.first == .latin1 && bytes[0] != 0x30
            #expect(inspection.repairs == (isXML ? [.literal] : shape.repairs))
            #expect(try decoder.decode(text.span).canonicalText.reveal() == plain)
            #expect(try Decoders.tolerant.refusal(ofText: text) != nil, "verifyReceipt stays as strict as it was")
        }
    }

    @Test("A property list with escapes is found, with and without its quotes")
    func escapedLists() throws {
        let list = String(decoding: try ReceiptInputTests.Samples.shared.transaction, as: UTF8.self)
        let once = Self.json(list)
        for (text, repairs) in [
            (once, [.quotes, .jsonEscapes, .rawBytes]),
            (String(once.dropFirst().dropLast()), [.jsonEscapes, .rawBytes]),
            (Self.json(once), [.quotes, .jsonEscapes, .rawBytes]),
            (Self.json(list, in: "r"), [.jsonMember, .rawBytes]),
        ] as [(String, [ReceiptRepair])] {
            let inspection = try Self.decoder.get().inspect(Array(text.utf8).span)
            #expect(inspection.isVerified && inspection.repairs == repairs, "\(text.prefix(40))")
        }
    }

    @Test("A forged receipt is rejected with the same error inside of other data", arguments: shapes)
    func forged(shape: Shape) throws {
        #expect(try Self.decoder.get().refusal(ofText: shape.forged())?.code == .badSignature)
    }

    @Test("Damage of what is around a receipt is rejected or leaves its contents as they are", arguments: shapes)
    func damaged(shape: Shape) throws {
        var random = SeededGenerator("damaged \(shape.testDescription)")
        let bytes = try ReceiptInputTests.Samples.shared.app
        let contents = try Decoders.apple.decode(bytes: bytes).contents
        let text = try shape.wrap(bytes, Base64.encode(bytes))
        for _ in 0..<TestSize.pick(debug: 1, release: 4) {
            var damaged = text
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                // Half of the damage is where the structure is.
                let isAtEnd = Bool.random(using: &random)
                let offset = Int.random(in: 0..<(isAtEnd ? min(40, damaged.count) : damaged.count), using: &random)
                let place = isAtEnd && Bool.random(using: &random) ? damaged.count - 1 - offset : offset
                switch Int.random(in: 0...2, using: &random) {
                case 0: damaged.remove(at: place)
                case 1:
                    damaged.insert(contentsOf: "\"'\\<>{}[]&=%,.".utf8.shuffled(using: &random).prefix(2), at: place)
                default: damaged[place] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let inspection = try Self.decoder.get().inspect(damaged.span)
            #expect(!inspection.isVerified || inspection.contents == contents)
        }
    }

    @Test("A receipt is found through any three layers around it")
    func layers() throws {
        typealias Layer = (name: String, wrap: ([UInt8]) throws -> [UInt8])
        let layers: [Layer] = [
            ("member", { Array(Self.json(String(decoding: $0, as: UTF8.self), in: "any").utf8) }),
            ("array", { Array("[1,\(Self.json(String(decoding: $0, as: UTF8.self)))]".utf8) }),
            ("string", { Array(Self.json(String(decoding: $0, as: UTF8.self)).utf8) }),
            ("base64", { MintedReceipts.base64($0) }), ("gzip", { MintedReceipts.base64(try Self.compressed($0)) }),
            ("bytea", { Array("\\x\(Self.hex($0))".utf8) }), ("SQL", { Array("X'\(Self.hex($0))'".utf8) }),
            ("list", { Array("{\"type\":\"Buffer\",\"data\":[\(Self.decimals($0))]}".utf8) }),
            ("Buffer", { Array("<Buffer \(Self.hex($0, separator: " "))>".utf8) }),
            ("Python", { Array("b'\(Self.printed($0))'".utf8) }),
            ("form", { Array("a=b&r=".utf8) + $0.flatMap { Array("%\(Hexadecimal.text(of: [$0]))".utf8) } }),
        ]
        var random = SeededGenerator("layers")
        let plain = MintedReceipts.base64(try ReceiptInputTests.Samples.shared.app)
        for _ in 0..<TestSize.pick(debug: 15, release: 60) {
            let chosen = (0..<3).compactMap { _ in layers.randomElement(using: &random) }
            let text = try chosen.reduce(plain) { try $1.wrap($0) }
            let inspection = try Self.decoder.get().inspect(text.span)
            #expect(inspection.isVerified, "\(chosen.map(\.name)): \(inspection.failure as Any)")
        }
    }

    @Test("The authentic one of several receipts counts, and then a signed text")
    func several() throws {
        let bytes = try ReceiptInputTests.Samples.shared.app
        let good = Base64.encode(bytes)
        let forged = Base64.encode(try Shape.forged(bytes))
        let jws = try MintedReceipts.pki.jwsSigner.jws(
            payload: JSONValue(["transactionId": "1", "originalTransactionId": "1"]))
        let renewal = try MintedReceipts.pki.jwsSigner.jws(payload: JSONValue(["autoRenewStatus": 1]))
        let list = Base64.encode(try ReceiptInputTests.Samples.shared.transaction)
        for (text, kind, repairs) in [
            (#"{"latest_receipt":"\#(forged)","b":"\#(good)"}"#, .appReceipt, [.jsonMember]),
            (#"{"a":"\#(list)","latest_receipt":"\#(good)"}"#, .appReceipt, [.answerWrapper]),
            (#"{"a":"\#(list)","b":"\#(good)"}"#, .transactionReceipt, [.jsonMember]),
            (#"{"a":"\#(good.prefix(900))","b":"\#(good)"}"#, .appReceipt, [.jsonMember]),
            (#"{"a":"\#(jws)","b":"\#(good)"}"#, .appReceipt, [.jsonMember]),
            (#"{"a":"\#(jws)","b":"\#(forged)"}"#, .jws, [.jsonMember]),
            (#"{"purchaseToken":"\#(jws)","id":"1"}"#, .jws, [.jsonMember]),
            (#"[{"signedPayload":"\#(jws)"}]"#, .jws, [.jsonMember]),
        ] as [(String, ReceiptKind, [ReceiptRepair])] {
            let inspection = try Self.decoder.get().inspect(Array(text.utf8).span)
            #expect(inspection.kind == kind && inspection.repairs == repairs, "\(text.prefix(60))")
            #expect(inspection.isVerified == (kind != .jws))
        }
        // Of signed texts, a transaction before a renewal.
        let both = try Self.decoder.get().inspect(Array(#"{"r":"\#(renewal)","t":"\#(jws)"}"#.utf8).span)
        #expect(both.signedText?.reveal() == jws)
    }

    @Test("A print that lacks bytes is reported as such")
    func lostBytes() throws {
        let bytes = try ReceiptInputTests.Samples.shared.app
        let base64 = Base64.encode(bytes)
        let head = Array(bytes.prefix(50))
        let words = Self.hex(head, separator: " ")
        for text in [
            "<Buffer \(words) ... 5432 more bytes>", "<Buffer \(words) ...>", "<Buffer \(words) … 5432 more bytes>",
            "{\"receipt\":\"<Buffer \(words) ... 5432 more bytes>\"}", "{\"receipt\":\"5432 bytes\"}",
            "Uint8Array(5432) [\n  \(Self.decimals(head)),\n  ... 5332 more items\n]",
            "<<\(Self.decimals(head)), ...>>",
            "[\(Self.decimals(head, separator: " ")) ...]", "b'\(Self.printed(head))...'", "b'\(base64.prefix(40))'...",
            "\(base64.prefix(47))...", "MIIT8QYJ...", "ewoJInNpZ2...", "\(base64.prefix(40))…\(base64.suffix(20))",
            "\(base64.prefix(60))... (8132 chars truncated)",
            "{ receipt: '\(base64.prefix(100))'... 8000 more characters }",
            ReceiptEncodingVariant.shortDataDescription(bytes), "Optional(5432 bytes)", "[B@1b6d3586",
            "[object ArrayBuffer]", "System.Byte[]", "<memory at 0x7f1c2c0a1b80>",
            String(decoding: bytes, as: UTF8.self),
        ] {
            let failure = try Self.decoder.get().inspect(Array(text.utf8).span).failure
            #expect(failure?.code == .truncatedDescription, "\(text.prefix(60)): \(failure as Any)")
        }
    }

    @Test("What is not a receipt is named by its shape")
    func names() throws {
        let base64 = Base64.encode(try ReceiptInputTests.Samples.shared.app)
        for (text, description) in [
            "{}": "notAReceipt at text: a JSON object without a receipt",
            "[{\"a\":1}]": "notAReceipt at text: a JSON array without a receipt",
            Base64.encode(Array(#"{"a":"\#(String(repeating: "b", count: 80))"}"#.utf8)):
                "notAReceipt at text: a JSON object without a receipt",
            "a=b&c=d": "notAReceipt at text: a form without a receipt",
            "{a": "notAReceipt at text: begins as an object or a list, but is neither JSON nor a property list",
            "730000000009001": "notAReceipt at text: a number, which may be a transaction id, instead of a receipt",
            "null": "notAReceipt at text: the name of an empty value, such as null, instead of a receipt",
            "<html><body>502</body></html>": "notAReceipt at text: XML or HTML instead of a receipt",
            "/var/mobile/receipt": "notAReceipt at text: a path or an address instead of a receipt",
            "6f1c9a9e-1111-4a1b-8a1b-0123456789ab": "notAReceipt at text: a UUID instead of a receipt",
            "GPA.1234-5678": "notAReceipt at text: an order id of Google Play instead of a receipt",
            "abcdef.AO-J1Oxyz": "notAReceipt at text: a purchase token of Google Play instead of a receipt",
            #"{"json":"{\"packageName\":\"com.example.app\",\"purchaseToken\":\"abc.AO-J1Oxyz\"}"}"#:
                "notAReceipt at text: a purchase of Google Play instead of a receipt",
            #"{"orderId":"GPA.1234-5678"}"#: "notAReceipt at text: a purchase of Google Play instead of a receipt",
            #"{"orderId":"1234","purchaseToken":"abc"}"#: "notAReceipt at text: a JSON object without a receipt",
            #"{"userId":"u","receiptId":"\#(String(repeating: "aB3_", count: 12))=:3:11"}"#:
                "notAReceipt at text: a receipt of the Amazon Appstore instead of a receipt",
            String(repeating: "aB3_", count: 12) + "=:3:11":
                "notAReceipt at text: a receipt id of the Amazon Appstore instead of a receipt",
            #"{"InAppPurchaseData":"{\"applicationId\":1,\"purchaseToken\":\"00000\"}"}"#:
                "notAReceipt at text: a purchase of Huawei AppGallery instead of a receipt",
            "Please wait...": "notBase64 at text: U+002E at offset 11 is not a character of base64",
            "AAAA": "notAReceipt at bytes: neither a PKCS#7 container nor a property list",
            "": "empty at text: the text is empty",
            #"{"r":"\#(base64.prefix(1_000))"}"#:
                "truncated at SignedData: the data ends at byte 750, before the end of the container",
        ] as KeyValuePairs {
            #expect(try Self.decoder.get().inspect(Array(text.utf8).span).failure?.description == description)
        }
    }

    // T13
    @Test(
        "The work is limited for hostile data",
        arguments: [
            #"{"a":"#, "[", #"["#, #""\""#, "'", "\"", #"\""#, "\\\\", "=&", "a=", "<", "{'", "...", "%7B", "48,", "0x",
            #"{"a":"MIIB","#, "b'MIIB...", "H4sIAAAAAAAA", "x'30", "MIIB!", "eyJ", "30 82 ",
        ])
    func bombs(piece: String) throws {
        let size = TestSize.pick(debug: 8_000, release: 20_000)
        let long = String(repeating: piece, count: size / piece.utf8.count)
        let texts = "\"\(String(repeating: piece, count: 80 / piece.utf8.count).filter { $0 != "\"" && $0 != "\\" })\","
        for text in [long, "{\"r\":\"\(long)", "[\(String(repeating: texts, count: size / texts.utf8.count))1]"] {
            let (failure, elapsed) = try timed { try Self.decoder.get().refusal(ofText: Array(text.utf8)) }
            #expect(failure != nil)
            #expect(elapsed < .seconds(20))
        }
    }

    // T13
    @Test("JSON of very many numbers that are no bytes takes little more memory than the text")
    func numbers() async throws {
        // In a process of its own, because the system knows the memory of a process only.
        await #expect(processExitsWith: .success) {
            let size = TestSize.pick(
                debug: (numbers: 500_000, limit: 16 << 20), release: (numbers: 1_500_000, limit: 48 << 20))
            let text = Array((#"{"a":["# + String(repeating: "1,", count: size.numbers) + "1]}").utf8)
            let decoder = try MintedReceipts.decoder(.stored)
            _ = decoder.refusal(ofText: Array(#"{"a":[1]}"#.utf8))
            Memory.resetPeak()
            let before = Memory.peak
            #expect(decoder.refusal(ofText: text)?.code == .notAReceipt)
            let growth = Memory.peak - before
            #expect(growth < size.limit || Memory.isSanitized, "\(growth)")
        }
    }
}
