import ReceiptBridgeBatch
import Testing
import ReceiptBridgeTestSupport

@Suite("JSON Lines source")
struct JSONLinesSourceTests {
    static let lines: [(line: String, row: SourceRow?)] = [
        (#"{"id":"a","receipt":"MIIT"}"#, .text(1, "a", "MIIT")),
        (#"{"receipt-data":"MIIT","id":"a"}"#, .text(1, "a", "MIIT")),
        (#" { "id" : 17 , "receipt" : "MIIT" } "#, .text(1, "17", "MIIT")),
        (#"{"id":-1.50e3,"receipt":"MIIT"}"#, .text(1, "-1.50e3", "MIIT")),
        (#"{"receipt":"MIIT"}"#, .text(1, nil, "MIIT")),
        (#"{"id":null,"receipt":"MIIT"}"#, .text(1, nil, "MIIT")),
        (#"{"id":"","receipt":"MIIT"}"#, .text(1, nil, "MIIT")),
        (#"{"id":true,"receipt":"MIIT"}"#, .text(1, nil, "MIIT")),
        (#"{"id":{"a":1},"receipt":"MIIT"}"#, .text(1, nil, "MIIT")),
        // Escapes, also in keys.
        (#"{"\u0069d":"\u00e4\ud83d\ude00","receipt":"a\/b\\c\nd\u0000e"}"#, .text(1, "ä😀", "a/b\\c\nd\0e")),
        // The last value of a repeated key is used.
        (#"{"id":"a","receipt":"one","id":"b","receipt":"two"}"#, .text(1, "b", "two")),
        // `receipt` has precedence; if it has no value, the other key is used.
        (#"{"receipt-data":"two","receipt":"one"}"#, .text(1, nil, "one")),
        (#"{"receipt":null,"receipt-data":"two"}"#, .text(1, nil, "two")),
        // A whole verifyReceipt response is passed on unchanged.
        (#"{"id":"a","receipt":{"status":0, "x":["\u0041"]}}"#, .text(1, "a", #"{"status":0, "x":["\u0041"]}"#)),
        // An array too, for example of bytes.
        (#"{"id":"a","receipt":[48,130]}"#, .text(1, "a", "[48,130]")),
        // MongoDB and DynamoDB export a value as the only member of an object that names its type.
        (#"{"id":{"$oid":"5f00"},"receipt":"one"}"#, .text(1, "5f00", "one")),
        (#"{"id":{"$numberLong":"7"},"receipt":"one"}"#, .text(1, "7", "one")),
        (#"{"id":{"N":"7"},"receipt":{"S":"one"}}"#, .text(1, "7", #"{"S":"one"}"#)),
        (#"{"id":{"$oid":"a","b":1},"receipt":"one"}"#, .text(1, nil, "one")),
        (#"{"id":{"name":"a"},"receipt":"one"}"#, .text(1, nil, "one")),
        (#"{"id":"a"}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":null}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":""}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":"NULL"}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":" None\n"}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":"nan"}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":"[]"}"#, SourceRow(number: 1, id: "a", value: .missing)),
        (#"{"id":"a","receipt":"Nona"}"#, SourceRow(number: 1, id: "a", value: .bytes(Array("Nona".utf8)))),
        // The id's key in any case; the exact one has precedence.
        (#"{"ID":"a","receipt":"MIIT"}"#, .text(1, "a", "MIIT")),
        (#"{"id":"a","ID":"b","receipt":"MIIT"}"#, .text(1, "a", "MIIT")),
        // Ids of MongoDB and Parse, if there is no other one.
        (#"{"_id":{"$oid":"5f00"},"receipt":"MIIT"}"#, .text(1, "5f00", "MIIT")),
        (#"{"objectId":"a","receipt":"MIIT"}"#, .text(1, "a", "MIIT")),
        (#"{"_id":"a","objectId":"b","ID":"c","receipt":"MIIT"}"#, .text(1, "c", "MIIT")),
        ("{}", SourceRow(number: 1, id: nil, value: .missing)),
        ("", nil), (" \t\r", nil),
    ]

    @Test("A line is parsed", arguments: lines)
    func line(line: String, row: SourceRow?) throws {
        for ending in ["\n", "\r\n"] {
            #expect(try rows(of: line + ending, as: "a.jsonl") == (row.map { [$0] } ?? []))
        }
    }

    @Test("Without the receipt's key, a line with another long value is passed on whole, unless a key was selected")
    func wholeLines() throws {
        let long = String(repeating: "MIIT", count: 16)
        for line in [#"{"id":"a","purchase":"\#(long)"}"#, #"{"id":"a","data":{"purchase":"\#(long)"}}"#] {
            #expect(try rows(of: line + "\n", as: "a.jsonl") == [.text(1, "a", line + "\n")])
            let other = #"{"id":"b","receipt":"MIIT"}"#
            let selected = try rows(
                of: "\(line)\n\(other)", as: "a.jsonl", options: SourceOptions(receiptColumn: "receipt"))
            #expect(selected == [SourceRow(number: 1, id: "a", value: .missing), .text(2, "b", "MIIT")])
        }
        for line in [#"{"id":"a","receipt":null,"x":"\#(long)"}"#, #"{"id":"\#(long)"}"#] {
            #expect(try rows(of: line, as: "a.jsonl").map(\.value) == [.missing])
        }
    }

    @Test(
        "A malformed line is an unreadable row, and reading continues",
        arguments: Named.list([
            ("MIIT", "notJSON"), (#""MIIT""#, "notJSON"), ("[1]", "notJSON"), (#"{"id":1"#, "notJSON"),
            (#"{"id":1} {"id":2}"#, "notJSON"), ("{\"receipt\":\"a\0b\"}", "notJSON"), ("\0", "notJSON"),
            (#"{"receipt":true}"#, "notText"),
            (String(repeating: "[", count: 1_000), "notJSON"),
        ]) { $0.0 })
    func brokenLines(row: Named<(String, String)>) throws {
        let (line, code) = row.value
        let rows = try rows(of: "\(line)\n{\"id\":\"b\",\"receipt\":\"MIIT\"}\n", as: "a.jsonl")
        #expect(rows.first?.value.code == code)
        #expect(rows.dropFirst() == [.text(2, "b", "MIIT")])
    }

    @Test("An id or account token that is not UTF-8 makes the row unreadable")
    func malformedTexts() throws {
        let options = SourceOptions(accountTokenColumn: "user")
        let texts: [(bytes: [UInt8], text: String?)] = [
            ([0xE9], nil), (Array(#"\ud83d"#.utf8), nil), (Array(#"é\u00e9"#.utf8), "éé"),
        ]
        for (bytes, text) in texts {
            var file: [UInt8] = []
            for key in ["id", "user"] {
                file += Array(#"{"receipt":"MIIT","\#(key)":""#.utf8)
                file += bytes
                file += Array("\"}\n".utf8)
            }
            let rows = try rows(of: file, as: "a.jsonl", options: options)
            let codes: [String?] = text == nil ? ["malformedId", "malformedAccountToken"] : [nil, nil]
            #expect(rows.map(\.value.code) == codes)
            #expect(rows.map(\.id) == [text, nil])
            #expect(rows.map(\.accountToken) == [nil, text])
        }
    }

    @Test("The reason contains no text of the line")
    func silence() throws {
        let rows = try rows(of: "{\"receipt\":\"SECRET\",x}\n", as: "a.jsonl")
        #expect(rows.first.map { !"\($0.value)".contains("SECRET") } == true)
    }

    @Test("Rows are numbered, not lines; a byte order mark is not a row")
    func numbers() throws {
        let text = "\u{FEFF}{\"receipt\":\"a\"}\n\n\r\n{\"receipt\":\"b\"}\n   \nx\n{\"receipt\":\"c\"}\n"
        let rows = try rows(of: text, as: "a.jsonl")
        #expect(rows.map(\.number) == [1, 2, 3, 4])
        #expect(rows.map(\.value.code) == [nil, nil, "notJSON", nil])
    }

    @Test("Only the selected keys are used")
    func names() throws {
        let options = SourceOptions(receiptColumn: "data", idColumn: "user", accountTokenColumn: "token")
        let text = #"{"id":"a","receipt":"no","data":"yes","user":7,"token":"8a6f"}"# + "\n"
        #expect(try rows(of: text, as: "a.jsonl", options: options) == [.text(1, "7", "yes", token: "8a6f")])
    }

    @Test("A line that is too long is one row, for any chunk size", arguments: [64, 1_000, 1 << 18])
    func longLines(chunk: Int) throws {
        var limits = SourceLimits()
        (limits.chunk, limits.row) = (chunk, 500)
        func line(_ length: Int) -> String { #"{"receipt":"\#(String(repeating: "A", count: length - 14))"}"# }
        let lines = [line(20), line(500), line(501), line(50_000), line(20)]
        for ending in ["\n", ""] {
            let rows = try rows(of: lines.joined(separator: "\n") + ending, as: "a.jsonl", limits: limits)
            #expect(rows.map(\.value.code) == [nil, nil, "tooLarge", "tooLarge", nil])
        }
        let rows = try rows(of: lines[3], as: "a.jsonl", limits: limits)
        #expect(rows.map(\.value.code) == ["tooLarge"])
    }

    /// Names, complete rows, a last row without a line break, what is appended to it, and its code before that.
    static let tails: [(name: String, rows: String, tail: String, rest: String, code: String?)] = [
        ("a.csv", "id,receipt\na,MIIT\n", "b,\"MI", "\nIT\"\nc,MIIU\n", "malformedQuotes"),
        ("a.csv", "id,receipt\na,MIIT\n", "b,MI", "IT\nc,MIIU\n", nil),
        (
            "a.jsonl", "{\"id\":\"a\",\"receipt\":\"MIIT\"}\n", "{\"rec", "eipt\":\"c\"}\n{\"receipt\":\"d\"}\n",
            "notJSON"
        ),
    ]

    @Test(
        "A last row without a line break is a separate batch, and is read again after the file has grown",
        arguments: tails.indices)
    func unfinishedTail(index: Int) throws {
        let (name, rows, tail, rest, code) = Self.tails[index]
        let folder = try TemporaryFolder()
        let path = try folder.write(name, rows + tail)
        var source = try Sources.open(path)
        let first = try #require(try source.next(maximumRows: 10, maximumBytes: 1_000))
        #expect(first.rows == [.text(1, "a", "MIIT")] && !first.isUnfinishedTail)
        let second = try #require(try source.next(maximumRows: 10, maximumBytes: 1_000))
        #expect(second.isUnfinishedTail && second.end == first.end && second.rows.map(\.value.code) == [code])
        #expect(try source.next(maximumRows: 10, maximumBytes: 1_000) == nil)
        try folder.append(name, rest.utf8)
        var grown = try Sources.open(path, at: second.end)
        #expect(try grown.comparison(with: source.identity) == .grown)
        #expect(try grown.rest().map(\.number) == [2, 3])
    }

    @Test("A batch ends after the given number of rows or bytes, but has at least one row")
    func batches() throws {
        let folder = try TemporaryFolder()
        let line = #"{"receipt":"\#(String(repeating: "A", count: 100))"}"# + "\n"
        let path = try folder.write("a.jsonl", String(repeating: line, count: 10))
        var source = try Sources.open(path)
        #expect(try source.next(maximumRows: 3, maximumBytes: 10_000)?.rows.count == 3)
        #expect(try source.next(maximumRows: 9, maximumBytes: 150)?.rows.count == 2)
        #expect(try source.next(maximumRows: 0, maximumBytes: 0)?.rows.count == 1)
        #expect(try source.next(maximumRows: 99, maximumBytes: 10_000)?.rows.count == 4)
        #expect(try source.next(maximumRows: 9, maximumBytes: 10_000) == nil)
    }

    @Test("A position that is not the start of a line is rejected")
    func strangePosition() throws {
        let folder = try TemporaryFolder()
        var source = try Sources.open(try folder.write("a.jsonl", "{\"receipt\":\"a\"}\n{\"receipt\":\"b\"}\n"))
        let position = try #require(try source.next(maximumRows: 1, maximumBytes: 1)).end
        for other in ["{\"receipt\":\"aa\"}\n{\"receipt\":\"b\"}\n", "{}"] {
            let path = try folder.write("b.jsonl", other)
            #expect(throws: SourceError.self) { _ = try Sources.open(path, at: position) }
            #expect(try Sources.open(path).comparison(with: source.identity) != .same)
        }
    }
}
