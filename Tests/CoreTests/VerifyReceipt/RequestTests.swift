import ReceiptBridgeBase
import ReceiptBridgeReceipts
import Testing
import ReceiptBridgeCore
import ReceiptBridgeTestSupport

@Suite("verifyReceipt request bodies")
struct RequestTests {
    private func request(_ text: String, _ profile: ReceiptProfile = .apple) throws -> VerifyReceiptRequest {
        try VerifyReceiptRequest(body: Array(text.utf8), profile: profile)
    }

    private func forwarded(_ text: String, password: String? = nil) throws -> String {
        String(decoding: try request(text).forwardedBody(password: password.map { SharedSecret($0) }), as: UTF8.self)
    }

    @Test(
        "A body that needs no change is forwarded byte for byte",
        arguments: [
            #"{"receipt-data":"TUlJ"}"#,
            #" { "password" : "a\/b" , "receipt-data":"TUlJ\/+==", "zeal": [1, {"a": null}], "é": 1.50e+2 } "#,
            #"{"receipt-data":"TUlJ","exclude-old-transactions":"true","password":null}"#,
            "{\"receipt-data\":\"TUlJ\\r\\nTUlJ\"}\n",
        ])
    func untouched(body: String) throws { #expect(try forwarded(body) == body) }

    @Test(
        "Only the tolerant profile reads a form, or JSON that is escaped like one",
        arguments: [
            "receipt-data=TUlJ%2F%2B%3D%3D&password=a%20%26+b&exclude-old-transactions=true&zeal=1",
            "a=%zz&b=2&c=3&&d&e==&receipt-data=TUlJ%2F%2B%3D%3D&f=6&password=a+%26+b&exclude-old-transactions=1",
            "%7B+%22receipt-data%22%3A+%22TUlJ%2F%2B%3D%3D%22%2C+%22password%22%3A+%22a+%26+b%22%2C+"
                + "%22exclude-old-transactions%22%3A+true%7D",
            "%7B%22receipt-data%22%3A%22TUlJ%2F%2B%3D%3D%22%2C%22password%22%3A%22a%20%26%20b%22%2C"
                + "%22exclude-old-transactions%22%3Atrue%7D",
        ])
    func form(body: String) throws {
        let request = try request(body, .tolerant)
        #expect(request.receiptText.reveal() == Array("TUlJ/+==".utf8))
        #expect(request.password == .text(SharedSecret("a & b")) && request.excludesOldTransactions)
        // JSON is forwarded to Apple.
        let sent = try VerifyReceiptRequest(body: request.forwardedBody(password: nil))
        #expect(sent.receiptText.reveal() == Array("TUlJ/+==".utf8) && sent.password == request.password)
        #expect(throws: VerifyReceiptRequest.Failure.notJSON) { try self.request(body) }
    }

    @Test(
        "A form without a receipt, or with an incomplete escape, is rejected",
        arguments: [
            "a=b", "receipt-data", "%7B%2", "receipt-data=%zz", "receipt-data=TUlJ&password=100%",
            "receipt-data=TUlJ&password=%FF", "&&==&", "%7Breceipt-data=1",
        ])
    func noForm(body: String) {
        #expect(throws: VerifyReceiptRequest.Failure.notJSON) { try self.request(body, .tolerant) }
    }

    // T13
    @Test("A body has at most 256 keys, including repeated ones")
    func keys() throws {
        func body(_ further: Int, _ key: (Int) -> String) -> String {
            #"{"receipt-data":"QQ=="\#((0..<further).map { #","\#(key($0))":1"# }.joined())}"#
        }
        #expect(try request(body(255) { "k\($0)" }).receiptText.reveal() == Array("QQ==".utf8))
        for further in [256, 320_000] {
            for key in [{ "k\($0)" }, { _ in "k" }] as [(Int) -> String] {
                #expect(throws: VerifyReceiptRequest.Failure.tooManyKeys) { try self.request(body(further, key)) }
            }
        }
        // Keys of nested objects do not count.
        let nested = body(1_000) { "k\($0)" }
        #expect(try request(#"{"receipt-data":"QQ==","x":\#(nested)}"#).receiptText.reveal() == Array("QQ==".utf8))
    }

    /// A body, and the body that is forwarded. That both are read alike is tested in ``RequestReaderTests``.
    private static let ambiguous =
        tableRows(
            #"""
            {"receipt-data":"QQ==","x":1,"receipt-data":"Qg==","x":{"x":2,"x":3}} → {"receipt-data":"Qg==","x":{"x":2,"x":3}}
            {"receipt-data":"QQ==","password":"a","receipt-data":"Qg==","password":"b"} → {"receipt-data":"Qg==","password":"b"}
            {"receipt-data":"QQ==","receipt\u002ddata":"Qg==","\u0070assword":"s","\"q\\":1} → {"receipt-data":"Qg==","password":"s","\"q\\":1}
            """#) + [("\u{FEFF}{\"receipt-data\":\"QQ==\"}", #"{"receipt-data":"QQ=="}"#)]

    // T14
    @Test(
        "An ambiguous body is rewritten, with each key once, without escapes, and its last value", arguments: ambiguous)
    func rewritten(body: String, expected: String) throws {
        #expect(try forwarded(body) == expected)
        let (read, again) = (try request(body), try request(expected))
        #expect(read.receiptText.reveal() == again.receiptText.reveal() && read.password == again.password)
    }

    @Test("JSON escapes in the receipt are decoded, and forwarded unchanged")
    func escapedReceipt() throws {
        let body = #"{"receipt-data":"TU\/J\u002b\u003D="}"#
        #expect(try request(body).receiptText.reveal() == Array("TU/J+==".utf8))
        #expect(try forwarded(body) == body)
    }

    @Test("The configured password is added once, at the end, with JSON escapes")
    func replacedPassword() throws {
        #expect(
            try forwarded(#"{"password":"old","receipt-data":"QQ==","z":[true]}"#, password: "a\"b\\c\nd\u{1}é/")
                == #"{"receipt-data":"QQ==","z":[true],"password":"a\"b\\c\nd\u0001é/"}"#)
        for body in [#"{"receipt-data":"QQ==","p\u0061ssword":"x","password":null}"#, #"{"receipt-data":"QQ=="}"#] {
            #expect(try forwarded(body, password: "s") == #"{"receipt-data":"QQ==","password":"s"}"#)
        }
    }

    static let refused: [(String, VerifyReceiptRequest.Failure)] = [
        ("", .notJSON), ("   ", .notJSON), ("null", .notJSON), ("[]", .notJSON), ("\"MIIT\"", .notJSON),
        ("receipt-data=MIIT", .notJSON), (#"{"receipt-data":"QQ=="}x"#, .notJSON),
        (#"{"receipt-data":"QQ=="}{"receipt-data":"QQ=="}"#, .notJSON), (#"{"receipt-data":"QQ==",}"#, .notJSON),
        (#"{"receipt-data":"QQ==" "a":1}"#, .notJSON), (#"{receipt-data:"QQ=="}"#, .notJSON),
        (#"{'receipt-data':'QQ=='}"#, .notJSON), (#"{"receipt-data":"QQ==","x":NaN}"#, .notJSON),
        (#"{"receipt-data":"QQ==","x":Infinity}"#, .notJSON), (#"{"receipt-data":"QQ==","x":01}"#, .notJSON),
        (#"{"receipt-data":"QQ==","x":1.}"#, .notJSON), (#"{"receipt-data":"QQ==","x":+1}"#, .notJSON),
        (#"{"receipt-data":"QQ==","x":True}"#, .notJSON), (#"{"receipt-data":"QQ==" /* x */}"#, .notJSON),
        (#"{"receipt-data":"QQ=="#, .notJSON), (#"{"receipt-data":"QQ==""#, .notJSON),
        (#"{"receipt-data":"Q\x51"}"#, .notJSON), (#"{"receipt-data":"Q\u00"}"#, .notJSON),
        ("{\"receipt-data\":\"Q\nQ\"}", .notJSON), ("{\"receipt-data\":\"QQ\u{0}\"}", .notJSON),
        ("{}", .receiptMissing), (#"{"receipt_data":"QQ=="}"#, .receiptMissing),
        (#"{"Receipt-Data":"QQ=="}"#, .receiptMissing), (#"{"a":{"receipt-data":"QQ=="}}"#, .receiptMissing),
        (#"{"receipt-data":123}"#, .receiptNotText), (#"{"receipt-data":null}"#, .receiptNotText),
        (#"{"receipt-data":["QQ=="]}"#, .receiptNotText),
        (#"{"receipt-data":"QQ==","receipt-data":1}"#, .receiptNotText),
        (#"{"receipt-data":""}"#, .receiptEmpty),
    ]

    static let notBase64 = [
        "   ", "==", "not a receipt!", "TU%2BJ", "TU-_", #"\ufeffTUlJ"#, #"\ud800"#, "data:text/plain;base64,TUlJ",
        "eyJhIjoxfQ.eyJhIjoxfQ.AAAA",
    ]

    @Test("Text with other characters, or without any digit, is not base64", arguments: notBase64)
    func noBase64(text: String) throws {
        #expect(try !request(#"{"receipt-data":"\#(text)"}"#).hasBase64Text)
        #expect(try request(#"{"receipt-data":"TUlJ\r\nTQ=="}"#).hasBase64Text)
    }

    @Test("An invalid body is refused with a reason", arguments: refused)
    func refusal(body: String, failure: VerifyReceiptRequest.Failure) {
        #expect(throws: failure) { try request(body) }
    }

    // T14
    @Test("UTF-16, Latin-1 and invalid UTF-8 are refused")
    func encodings() {
        let text = #"{"receipt-data":"QQ=="}"#
        let (beginning, end): ([UInt8], [UInt8]) = (Array(#"{"receipt-data":"QQ==","a":""#.utf8), [0x22, 0x7D])
        var bigEndian: [UInt8] = [0xFE, 0xFF]
        var littleEndian: [UInt8] = []
        for unit in text.utf16 {
            bigEndian += [UInt8(unit >> 8), UInt8(unit & 255)]
            littleEndian += [UInt8(unit & 255), UInt8(unit >> 8)]
        }
        let broken: [[UInt8]] = [[0xE9], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xFF], [0xC3]]
        for body in [bigEndian, littleEndian] + broken.map({ beginning + $0 + end }) {
            #expect(throws: VerifyReceiptRequest.Failure.notJSON) { try VerifyReceiptRequest(body: body) }
        }
    }

    // T14
    @Test("JSON may be nested 64 levels deep; deeper nesting is refused quickly", arguments: [64, 65, 1_000_000])
    func depth(levels: Int) throws {
        let nest = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let body = #"{"x":\#(nest),"receipt-data":"QQ=="}"#
        if levels <= 64 {
            #expect(try forwarded(body) == body)
        } else {
            #expect(throws: VerifyReceiptRequest.Failure.notJSON) { try request(body) }
            #expect(throws: VerifyReceiptRequest.Failure.notJSON) {
                try request(#"{"x":"# + String(repeating: #"{"a":"#, count: levels))
            }
        }
    }

    static let passwords: [(String, VerifyReceiptRequest.Password)] = [
        (#""#, .absent), (#","password":null"#, .absent), (#","password":"""#, .absent),
        (#","password":"s""#, .text(SharedSecret("s"))), (#","password":"\u0073""#, .text(SharedSecret("s"))),
        (#","password":1"#, .notText), (#","password":{}"#, .notText), (#","password":false"#, .notText),
    ]

    @Test("A password is text, missing or certainly wrong", arguments: passwords)
    func password(members: String, expected: VerifyReceiptRequest.Password) throws {
        #expect(try request("{\"receipt-data\":\"QQ==\"\(members)}").password == expected)
    }

    @Test(
        "exclude-old-transactions is read in the three forms that clients use",
        arguments: [
            ("true", true), (#""true""#, true), ("1", true), (#""1""#, true), ("false", false), ("0", false),
            (#""false""#, false), ("null", false), ("[true]", false), ("1.0", false), (#""TRUE""#, false),
        ])
    func exclusion(value: String, expected: Bool) throws {
        let body = #"{"receipt-data":"QQ==","exclude-old-transactions":\#(value)}"#
        #expect(try request(body).excludesOldTransactions == expected)
        #expect(try forwarded(body) == body)
    }

    @Test("A printed request contains neither receipt nor password")
    func secrecy() throws {
        let request = try request(#"{"receipt-data":"Q2FuYXJ5","password":"canary"}"#)
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), dumped] {
            #expect(!text.contains("canary") && !text.contains("Q2FuYXJ5"), "\(text)")
        }
    }
}
