import ReceiptBridgeBase
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

@Suite("Responses that another program wrote again")
struct RewrittenResponseTests {
    private let converter = DocumentConverter(tables: .bundled)

    private func camel(_ json: String) throws -> String { text(try converter.camelCase(Array(json.utf8))) }

    private static let row = #"{"transaction_id":"1","product_id":"month"}"#
    private static let other = #"{"transaction_id":"2","product_id":"month"}"#

    /// Lists as they are written again, Apple's own spelling, and what is said about it.
    static let lists: [(String, String, String?)] = [
        ("[]", "[]", nil), ("[\(row)]", "[\(row)]", nil),
        ("{}", "[]", "an empty object instead of a list"),
        (row, "[\(row)]", "one object instead of a list"),
        (#"{"foo":1}"#, #"[{"foo":1}]"#, "one object instead of a list"),
        (#"{"0":\#(row)}"#, "[\(row)]", "an object with indices instead of a list"),
        (#"{"0":\#(row),"2":\#(other)}"#, "[\(row),\(other)]", "an object with indices instead of a list"),
        // The order is that of the numbers, not that of the members or of the texts.
        (#"{"10":\#(other),"9":\#(row)}"#, "[\(row),\(other)]", "an object with indices instead of a list"),
        (
            #"{"0":\#(row),"99999999999999999999999999999999":\#(other)}"#, "[\(row),\(other)]",
            "an object with indices instead of a list"
        ),
    ]

    @Test("A list that is written as an object is read as the list", arguments: lists)
    func list(written: String, apples: String, shape: String?) throws {
        for (before, path, after) in [
            (#"{"status":0,"receipt":{"bundle_id":"a","in_app":"#, "receipt.in_app", "}}"),
            (#"{"status":0,"latest_receipt_info":"#, "latest_receipt_info", "}"),
            (#"{"status":0,"pending_renewal_info":"#, "pending_renewal_info", "}"),
        ] {
            let answer = before + written + after
            #expect(try camel(answer) == camel(before + apples + after))
            #expect(try converter.rewrittenShapes(in: Array(answer.utf8)) == (shape.map { ["\(path): \($0)"] } ?? []))
            #expect(
                try ResponseDocument(Array(answer.utf8)).purchases.map(\.transactionId)
                    == ResponseDocument(Array((before + apples + after).utf8)).purchases.map(\.transactionId))
        }
    }

    /// Members of a response, the path and the reason.
    static let refused: [(String, String)] = [
        (#""latest_receipt_info":7"#, "latest_receipt_info: expected an array of objects"),
        (
            #""latest_receipt_info":{"0":\#(row),"00":\#(other)}"#,
            "latest_receipt_info: expected an array of objects"
        ),
        (#""latest_receipt_info":{"0":\#(row),"0":\#(other)}"#, "latest_receipt_info: expected an array of objects"),
        (#""latest_receipt_info":{"0":\#(row),"x":\#(other)}"#, "latest_receipt_info: expected an array of objects"),
        (#""latest_receipt_info":{"0":{"0":\#(row)}}"#, "latest_receipt_info.0: expected an object"),
        (#""latest_receipt_info":[{"0":\#(row)}]"#, "latest_receipt_info[0]: expected an object"),
        (#""latest_receipt_info":{"0":\#(row),"7":"x"}"#, "latest_receipt_info.7: expected an object"),
        (#""latest_receipt_info":{"0":\#(row),"1":null}"#, "latest_receipt_info.1: expected an object"),
        (#""receipt":[{"bundle_id":"a"},{"bundle_id":"b"}]"#, "receipt: expected an object"),
        (#""receipt":{"0":\#(row),"1":\#(other)}"#, "receipt: expected an object"),
        (#""receipt":[7]"#, "receipt: expected an object"),
        (
            #""receipt":\#(row),"latest_receipt_info":[\#(row),\#(other)]"#,
            "latest_receipt_info: expected an object"
        ),
    ]

    @Test("What can mean two things is refused with its path", arguments: refused)
    func ambiguous(members: String, description: String) {
        let error = #expect(throws: ConversionError.self) { try camel(#"{"status":0,\#(members)}"#) }
        #expect(error?.code == .badValue && error?.description == description)
    }

    @Test(
        "An object of an iOS 6 response that is written as a list is read as the object",
        arguments: ["latest_receipt_info", "latest_expired_receipt_info"])
    func flat(latest: String) throws {
        func answer(_ receipt: String, _ newest: String) -> String {
            #"{"status":0,"auto_renew_status":1,"receipt":\#(receipt),"\#(latest)":\#(newest)}"#
        }
        let apples = try camel(answer(Self.row, Self.other))
        for (receipt, newest, shapes) in [
            ("[\(Self.row)]", "[\(Self.other)]", ["receipt", latest]),
            (#"{"0":\#(Self.row)}"#, #"{"5":\#(Self.other)}"#, ["receipt", latest]), (Self.row, Self.other, []),
        ] {
            #expect(try camel(answer(receipt, newest)) == apples)
            #expect(
                try converter.rewrittenShapes(in: Array(answer(receipt, newest).utf8))
                    == shapes.map { "\($0): a list instead of an object" })
            let response = try ResponseDocument(Array(answer(receipt, newest).utf8))
            #expect(response.isFlat && response.purchases.map(\.transactionId) == ["1", "2"])
            #expect(response.purchases.allSatisfy(\.isFlat) && response.renewals.count == 0)
        }
        for empty in ["[]", "{}"] {
            #expect(
                try camel(answer(Self.row, empty))
                    == camel(#"{"status":0,"auto_renew_status":1,"receipt":\#(Self.row)}"#))
        }
    }

    @Test("An empty receipt is an object without members in either spelling")
    func emptyReceipt() throws {
        #expect(try camel(#"{"status":0,"receipt":[]}"#) == camel(#"{"status":0,"receipt":{}}"#))
    }

    @Test("Numbers and booleans for texts are read as the texts")
    func scalars() throws {
        let numbers = #"{"transaction_id":730000000000061,"quantity":1,"is_trial_period":false,"expires_date_ms":5}"#
        let texts =
            #"{"transaction_id":"730000000000061","quantity":"1","is_trial_period":"false","expires_date_ms":"5"}"#
        #expect(
            try camel(#"{"status":"0","latest_receipt_info":[\#(numbers)]}"#)
                == camel(#"{"status":0,"latest_receipt_info":[\#(texts)]}"#))
    }

    /// Dates of Los Angeles, and the same in GMT; `nil` for an hour that does not exist there.
    static let dates: [(String, String?)] = [
        ("2023-08-14 00:50:46", "2023-08-14 07:50:46"), ("2023-01-14 00:50:46", "2023-01-14 08:50:46"),
        // Clocks are put forward at 02:00, and back at 02:00.
        ("2023-03-12 01:59:59", "2023-03-12 09:59:59"), ("2023-03-12 02:30:00", nil),
        ("2023-03-12 03:00:00", "2023-03-12 10:00:00"), ("2023-11-05 00:59:59", "2023-11-05 07:59:59"),
        ("2023-11-05 01:30:00", "2023-11-05 09:30:00"), ("2023-11-05 02:00:00", "2023-11-05 10:00:00"),
        ("2023-13-05 02:00:00", nil), ("0000-00-00 00:00:00", nil),
    ]

    @Test("A date of which only the time of Los Angeles is left is read", arguments: dates)
    func losAngeles(local: String, greenwich: String?) throws {
        let answer = #"{"status":0,"latest_receipt_info":[{"purchase_date_pst":"\#(local) America/Los_Angeles"}]}"#
        guard let greenwich else {
            let error = #expect(throws: ConversionError.self) { try camel(answer) }
            #expect(error?.description == "latest_receipt_info[0].purchase_date: expected a date")
            return
        }
        #expect(
            try camel(answer)
                == camel(#"{"status":0,"latest_receipt_info":[{"purchase_date":"\#(greenwich) Etc/GMT"}]}"#))
    }

    @Test("Milliseconds and the text in GMT have precedence over the time of Los Angeles, in any order of keys")
    func precedence() throws {
        let pst = #""purchase_date_pst":"2001-01-01 00:00:00 America/Los_Angeles""#
        for exact in [#""purchase_date_ms":"1000""#, #""purchase_date":"1970-01-01 00:00:01 Etc/GMT""#] {
            for members in ["\(exact),\(pst)", "\(pst),\(exact)"] {
                #expect(
                    try camel(#"{"status":0,"latest_receipt_info":[{\#(members)}]}"#).contains(#""purchaseDate":1000"#))
            }
        }
    }

    @Test("Damaged spellings are read or refused")
    func damaged() throws {
        var generator = SeededGenerator("rewritten")
        let answer = Array(
            #"{"status":0,"receipt":{"0":{"bid":"a","in_app":{"0":{},"1":{}}}},"latest_receipt_info":{"0":[],"00":{}}}"#
                .utf8)
        for _ in 0..<TestSize.pick(debug: 500, release: 5_000) {
            var bytes = answer
            for _ in 0..<3 {
                bytes[Int.random(in: bytes.indices, using: &generator)] =
                    Array("{}[]0:,\"x".utf8)
                    .randomElement(using: &generator) ?? 0
            }
            _ = try? converter.camelCase(bytes)
            _ = try? converter.rewrittenShapes(in: bytes)
            _ = (try? ResponseDocument(bytes))?.purchases
        }
    }
}
