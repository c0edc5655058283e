import ReceiptBridgeBatch
import Testing
import ReceiptBridgeTestSupport

@Suite("CSV source")
struct CSVSourceTests {
    static let files: [(text: String, rows: [SourceRow])] = [
        ("id,receipt\na,MIIT\n", [.text(1, "a", "MIIT")]),
        ("receipt\nMIIT\nMIIU\n", [.text(1, nil, "MIIT"), .text(2, nil, "MIIU")]),
        // Any order, other columns between, CRLF, a byte order mark.
        ("\u{FEFF}x,receipt,y,id\r\n1,MIIT,2,a\r\n3,MIIU,4,b\r\n", [.text(1, "a", "MIIT"), .text(2, "b", "MIIU")]),
        // Quotes: around separators, line breaks and quotes, around an empty field, and in the header.
        (
            "\"id\",\"receipt\"\n\"a,b\",\"MI\r\nIT\n\"\n\"a\"\"b\",\"\"\"\"\n\"\",\"\"\n",
            [.text(1, "a,b", "MI\r\nIT\n"), .text(2, "a\"b", "\""), SourceRow(number: 3, id: nil, value: .missing)]
        ),
        ("a \"b,receipt\n1,2\n", [.text(1, nil, "2")]),
        // A quote within plain text is an ordinary byte.
        ("id,receipt\na\"b,M\"\"T\n", [.text(1, "a\"b", "M\"\"T")]),
        // Spaces are part of a field, but not of a column name.
        (" id , receipt \n a , MIIT \n", [.text(1, " a ", " MIIT ")]),
        // Semicolons and tabs.
        ("id;receipt\na;M,IIT\n", [.text(1, "a", "M,IIT")]),
        ("id\treceipt\na\t\"M\tIIT\"\n", [.text(1, "a", "M\tIIT")]),
        ("id|receipt\na|M,IIT\n", [.text(1, "a", "M,IIT")]),
        ("\"id\"^\"receipt\"\n\"a\"^\"M,IIT\"\n", [.text(1, "a", "M,IIT")]),
        ("id~receipt\na~M,IIT\n", [.text(1, "a", "M,IIT")]), ("id\u{1}receipt\na\u{1}MIIT\n", [.text(1, "a", "MIIT")]),
        // The separator of Excel, and blank lines before the header.
        ("sep=;\r\nid;receipt\r\na;M,IIT\r\n", [.text(1, "a", "M,IIT")]),
        ("\u{FEFF}\"sep=^\"\nid^receipt^x,y\na^MIIT^\n", [.text(1, "a", "MIIT")]),
        ("\n\r\n  \nid,receipt\na,MIIT\n", [.text(1, "a", "MIIT")]),
        // Lines of Excel for Mac.
        ("id,receipt\ra,MIIT\rb,\"MI\rIU\"\r", [.text(1, "a", "MIIT"), .text(2, "b", "MI\nIU")]),
        // Ids of MongoDB and Parse; `id` has precedence.
        ("_id,receipt\na,MIIT\n", [.text(1, "a", "MIIT")]), ("objectId,receipt\na,MIIT\n", [.text(1, "a", "MIIT")]),
        ("_id,objectId,Id,receipt\na,b,c,MIIT\n", [.text(1, "c", "MIIT")]),
        // Any case, and what Apple and client libraries call a receipt. The exact name has precedence.
        ("ID,RECEIPT\na,MIIT\n", [.text(1, "a", "MIIT")]), ("id,receipt_data\na,MIIT\n", [.text(1, "a", "MIIT")]),
        ("Id,Receipt-Data\na,MIIT\n", [.text(1, "a", "MIIT")]),
        ("id,latest_receipt,latest_receipt_info\na,MIIT,[]\n", [.text(1, "a", "MIIT")]),
        ("id,transactionReceipt\na,MIIT\n", [.text(1, "a", "MIIT")]),
        ("id,latest_receipt,receipt\na,x,MIIT\n", [.text(1, "a", "MIIT")]),
        ("Receipt,receipt,ID,id\nx,MIIT,y,a\n", [.text(1, "a", "MIIT")]),
        // NULL as databases export it, and blank fields.
        (
            "id,receipt\na,NULL\nb,\\N\nc, \nd, null \ne,\"\r\n\"\nf,NULLS\n",
            ["a", "b", "c", "d", "e"].enumerated().map {
                SourceRow(number: Int64($0 + 1), id: $1, value: .missing)
            } + [.text(6, "f", "NULLS")]
        ),
        ("\"id;x\",receipt\na;b,MIIT\n", [.text(1, nil, "MIIT")]),
        // Blank lines are not rows; lines with empty fields are.
        ("id,receipt\n\n\r\na,\n\n,MIIT\n", [SourceRow(number: 1, id: "a", value: .missing), .text(2, nil, "MIIT")]),
        // NUL bytes are bytes.
        ("id,receipt\na\0b,\0\n", [.text(1, "a\0b", "\0")]),
        ("id,receipt\na,\"\0\"\"\0\"\n", [.text(1, "a", "\0\"\0")]),
        ("id,receipt\n", []), ("id,receipt", []),
    ]

    @Test("Files according to RFC 4180 and common variants are parsed", arguments: files)
    func file(text: String, expected: [SourceRow]) throws {
        for chunk in [4, 5, 7, 1 << 18] {
            var limits = SourceLimits()
            limits.chunk = chunk
            #expect(try rows(of: text, as: "a.csv", limits: limits) == expected, "in pieces of \(chunk)")
        }
    }

    @Test(
        "A malformed record is an unreadable row, and reading continues",
        arguments: [
            ("a,\"MI\"IT", "malformedQuotes"), ("a,\"MI\" ", "malformedQuotes"), ("a,\"MI\"\r", "malformedQuotes"),
            ("a", "wrongFieldCount"), ("a,b,c", "wrongFieldCount"), ("a,\"b,c\",d", "wrongFieldCount"),
        ])
    func brokenRecords(record: String, code: String) throws {
        for chunk in [4, 5, 1 << 18] {
            var limits = SourceLimits()
            limits.chunk = chunk
            let rows = try rows(of: "id,receipt\n\(record),\nb,MIIT\n", as: "a.csv", limits: limits)
            #expect(rows.map(\.value.code) == [record == "a" ? nil : code, nil])
            #expect(rows.last == .text(2, "b", "MIIT"))
        }
        #expect(try rows(of: "id,receipt\na\nb,MIIT\n", as: "a.csv").first?.value.code == "wrongFieldCount")
    }

    private static let receipt = String(repeating: "MIIT8w+/", count: 40)
    private static let secret = String(repeating: "SECRET", count: 11)
    private static let columns = (1...22).map { "c\($0)" }
    private static let named = SourceOptions(receiptColumn: "data", idColumn: "user", accountTokenColumn: "a,b")

    /// Texts that are no source, and the error: its code, and its reason if it names columns.
    static let refusals: [(text: String, options: SourceOptions, code: SourceError.Code, reason: String?)] =
        [
            ("", SourceOptions(), .malformed, nil), ("\n", SourceOptions(), .malformed, nil),
            ("\"receipt", SourceOptions(), .malformed, nil), ("\"receipt\"x,id\n", SourceOptions(), .malformed, nil),
            (String(repeating: "x", count: 2 << 20), SourceOptions(), .malformed, nil),
            (String(repeating: ",", count: 5_000) + "\n", SourceOptions(), .malformed, nil),
            (
                "user,data,\"a,b\"\n1,2,3\n", SourceOptions(), .missingColumn,
                "no column receipt; there are: user, data, a,b"
            ),
            (
                "user,data,\"a,b\"\n", SourceOptions(receiptColumn: "data", idColumn: "id"), .missingColumn,
                "no column id; there are: user, data, a,b"
            ),
            (
                "user,data,\"a,b\"\n", SourceOptions(receiptColumn: "data", accountTokenColumn: "token"),
                .missingColumn,
                "no column token; there are: user, data, a,b"
            ),
            // A name that several columns have, or several columns that can hold the receipt.
            (
                "receipt,id,receipt\n1,2,3\n", SourceOptions(), .ambiguousColumn,
                "there are several columns receipt, so it is not clear which one to use"
            ),
            (
                "id,receipt,id\n1,2,3\n", SourceOptions(), .ambiguousColumn,
                "there are several columns id, so it is not clear which one to use"
            ),
            (
                "RECEIPT,Receipt\n", SourceOptions(), .ambiguousColumn,
                "there are several columns receipt, so it is not clear which one to use"
            ),
            (
                "receipt_data,x,latest_receipt\n", SourceOptions(), .ambiguousColumn,
                "no column receipt, and several that can hold it: receipt_data, latest_receipt;"
                    + " choose one with --receipt-column"
            ),
            // Columns whose values look like receipts, and other separators.
            (
                "id,note,data\n1,,\n2,x,\"\(receipt)\"\n3,x", SourceOptions(), .missingColumn,
                "no column receipt; there are: id, note, data; the values of data look like receipts: use --receipt-column data"
            ),
            (
                "a,b\n\(receipt),\(receipt)\n", SourceOptions(), .missingColumn,
                "no column receipt; there are: a, b; the values of a, b look like receipts: choose one with --receipt-column"
            ),
            (
                "id:data\n", SourceOptions(), .missingColumn,
                "no column receipt; there are: id:data; columns are separated by a comma, semicolon, tab or |"
            ),
            // A limited number of columns with limited length.
            (
                columns.joined(separator: ",") + "\n", SourceOptions(), .missingColumn,
                "no column receipt; there are: \(columns.prefix(20).joined(separator: ", ")) and 2 more"
            ),
            (
                String(repeating: "n", count: 64) + "\n", SourceOptions(), .missingColumn,
                "no column receipt; there are: \(String(repeating: "n", count: 64))"
            ),
        ]
        // No text of a first line that is not a header; with and without a line break; terminal escape sequences.
        + ["a,\(secret)\nb,MIIU\n", "a,b,\(secret)", "id\u{1B}[2J,SECRET\n", "id\u{9B}2J,SECRET\n", "17,SECRET\n"].map {
            (
                $0, SourceOptions(receiptColumn: "data"), .missingColumn,
                "no column data; the first line does not look like a header; "
                    + "a CSV file must start with a line of column names that includes data"
            )
        }

    @Test(
        "A file without a header, or without the columns, is rejected with what there is", arguments: refusals.indices)
    func refused(index: Int) throws {
        let (text, options, code, reason) = Self.refusals[index]
        let folder = try TemporaryFolder()
        let path = try folder.write("a.csv", text)
        let error = #expect(throws: SourceError.self) { _ = try Sources.open(path, options: options) }
        #expect(error?.code == code && error?.place == path && (reason == nil || error?.reason == reason), "\(error)")
    }

    @Test("Columns are selected by their names; a repeated one that is not used does not matter")
    func selected() throws {
        #expect(
            try rows(of: "user,data,\"a,b\"\n1,2,3\n", as: "a.csv", options: Self.named) == [
                .text(1, "1", "2", token: "3")
            ])
        #expect(try rows(of: "x,x,receipt\n1,2,MIIT\n", as: "a.csv") == [.text(1, nil, "MIIT")])
    }

    @Test("An id or account token that is not UTF-8 makes the row unreadable")
    func malformedTexts() throws {
        var bytes = Array("id,user,receipt\n".utf8)
        for fields in [["a\u{E9}", "u", "MIIT"], ["b", "\u{C3}", "MIIT"], ["c", "\u{C3}\u{A9}", "\u{FF}"]] {
            // Latin-1: one byte for each character.
            bytes += fields.joined(separator: ",").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + [0x0A]
        }
        let rows = try rows(of: bytes, as: "a.csv", options: SourceOptions(accountTokenColumn: "user"))
        #expect(rows.map(\.value.code) == ["malformedId", "malformedAccountToken", nil])
        #expect(rows.map(\.id) == [nil, "b", "c"])
        #expect(rows.map(\.accountToken) == ["u", nil, "é"])
        // A receipt may be any bytes.
        #expect(rows.last?.value == .bytes([0xFF]))
    }

    @Test(
        "UTF-16 is read with and without a byte order mark, in any pieces, and from any position",
        arguments: [true, false], ["\u{FEFF}", ""])
    func wideText(isBigEndian: Bool, mark: String) throws {
        let text = "\(mark)id\treceipt\r\né😀\tMIIT\r\n" + (1...40).map { "\($0)\tMIIT\($0)\r\n" }.joined()
        let bytes = text.utf16.flatMap {
            let pair = [UInt8($0 >> 8), UInt8($0 & 0xFF)]
            return isBigEndian ? pair : pair.reversed()
        }
        let expected = [.text(1, "é😀", "MIIT")] + (1...40).map { SourceRow.text($0 + 1, "\($0)", "MIIT\($0)") }
        let folder = try TemporaryFolder()
        let path = try folder.write("a.txt", bytes)
        for chunk in [4, 5, 7, 1 << 18] {
            var limits = SourceLimits()
            limits.chunk = chunk
            var source = try Sources.open(path, limits: limits)
            let first = try #require(try source.next(maximumRows: 5, maximumBytes: 1 << 20))
            #expect(try first.rows + source.rest() == expected)
            var rest = try Sources.open(path, limits: limits, at: first.end)
            #expect(try first.rows + rest.rest() == expected)
        }
        // Half a character at the end.
        #expect(try rows(of: bytes + [0x41], as: "a.csv").last?.value.code == "wrongFieldCount")
        let error = #expect(throws: SourceError.self) { try SplittableSource(path) }
        #expect(error?.code == .notSplittable)
    }

    @Test("A field of 1 MB is read; a field over the limit is an unreadable row", arguments: [true, false])
    func largeFields(isQuoted: Bool) throws {
        let (mark, pair) = isQuoted ? ("\"", "A,") : ("", "AB")
        func field(_ count: Int) -> String { mark + String(repeating: pair, count: count / 2) + mark }
        var limits = SourceLimits()
        (limits.field, limits.row) = (1_000_000, 2_000_000)
        let sizes = [1_000_000, 1_000_002, 2_000_002, 2]
        let text = "id,receipt\n" + sizes.map { "\($0),\(field($0))\n" }.joined()
        let rows = try rows(of: text, as: "a.csv", limits: limits)
        #expect(rows.map(\.value.code) == [nil, "tooLarge", "tooLarge", nil])
        #expect(rows.first?.value == .text(String(repeating: pair, count: 500_000)))
        #expect(rows.map(\.number) == [1, 2, 3, 4])
        #expect(rows.map(\.id) == ["1000000", "1000002", "2000002", "2"])
        #expect(SourceLimits().field == 8 << 20)
    }

    private static let manyRows = TestSize.pick(debug: 2_000, release: 20_000)

    /// A stray quote in row 8 of many: in each column, alone or with a second one later.
    static let strayQuotes = [
        (8, "\"8,MIIT8,x", nil as Int?), (8, "8,\"MIIT8,x", nil), (8, "8,MIIT8,\"x", nil),
        (8, "8,\"MIIT8,x", manyRows * 3 / 4),
    ]

    @Test("A quote that is not closed does not affect other rows", arguments: strayQuotes, ["\n", "\r\n"])
    func strayQuote(quote: (row: Int, text: String, second: Int?), lineEnd: String) throws {
        var lines = ["id,receipt,x"] + (1...Self.manyRows).map { "\($0),MIIT\($0),x" }
        lines[quote.row] = quote.text
        if let second = quote.second { lines[second] = "\(second),\"MIIT\(second),x" }
        let text = lines.joined(separator: lineEnd) + lineEnd
        for quotedLines in [Self.manyRows * 5 / 2, Self.manyRows / 20] {
            var limits = SourceLimits()
            limits.quotedLines = quotedLines
            let rows = try rows(of: text, as: "a.csv", limits: limits)
            #expect(rows.count == Self.manyRows)
            let broken = rows.filter { $0.value.code != nil }
            #expect(broken.map(\.id) == [quote.row, quote.second].compactMap { $0.map { "\($0)" } })
            #expect(broken.allSatisfy { $0.value.code == "unclosedQuote" })
            #expect(rows.last == .text(Int64(Self.manyRows), "\(Self.manyRows)", "MIIT\(Self.manyRows)"))
        }
    }

    @Test("A record with too many lines or bytes ends at the first line break at which it has all columns")
    func overlongRecords() throws {
        func value(_ lines: Int) -> String { Array(repeating: "MIIT", count: lines).joined(separator: "\n") }
        func file(_ lines: Int) -> String {
            "id,receipt\na,\"\(value(lines))\"\nb,MIIU\n"
        }
        for chunk in [4, 64, 1 << 18] {
            var limits = SourceLimits()
            (limits.chunk, limits.quotedLines) = (chunk, 10)
            let within = try rows(of: file(10), as: "a.csv", limits: limits)
            #expect(within == [.text(1, "a", value(10)), .text(2, "b", "MIIU")])
            let beyond = try rows(of: file(11), as: "a.csv", limits: limits)
            #expect(
                beyond.map(\.value.code) == ["unclosedQuote"] + Array(repeating: "wrongFieldCount", count: 10) + [nil])
            #expect(beyond.first?.id == "a" && beyond.last == .text(12, "b", "MIIU"))
            (limits.quotedLines, limits.row) = (1_000, 54)
            #expect(try rows(of: file(10), as: "a.csv", limits: limits).map(\.value.code) == [nil, nil])
            limits.row = 40
            #expect(try rows(of: file(10), as: "a.csv", limits: limits).first?.value.code == "unclosedQuote")
        }
        #expect(SourceLimits().quotedLines == 50_000)
    }

    @Test("A last row with an open quote may still be written, unless other rows follow in it")
    func openTail() throws {
        let open = try rows(of: "id,receipt\na,\"MI\nIT\nIU", as: "a.csv")
        #expect(
            open.map(\.value) == [
                .unreadable(
                    code: "malformedQuotes",
                    reason: "the file ends within quotes, 2 lines after the start of the record")
            ])
        #expect(try rows(of: "id,receipt\na,\"MIIT\nb,MIIU", as: "a.csv").map(\.value.code) == ["unclosedQuote", nil])
        #expect(try rows(of: "receipt\n\"MIIT\nMIIU\n", as: "a.csv").map(\.value.code) == ["malformedQuotes"])
    }

    @Test("A record that ends beside a limit gives the same rows for any chunk size")
    func limitAtEnd() throws {
        let text = "id;receipt\r\n\"ac;\"\"b\"\";teSM\r\n\"\r\n\"a\0oMIIC\r\n"
        for row in 8...40 {
            var limits = SourceLimits()
            (limits.row, limits.field) = (row, row / 2)
            let whole = try rows(of: text, as: "a.csv", limits: limits)
            for chunk in 1...12 {
                limits.chunk = chunk
                #expect(try rows(of: text, as: "a.csv", limits: limits) == whole, "limit \(row), chunk \(chunk)")
            }
        }
    }

    /// Bytes that mean something, and headers.
    static let alphabets: [(alphabet: String, headers: [String])] = [
        ("\"\",,;\n\n\rab\t\0é\u{FEFF}", ["id,receipt\n", "receipt;id\r\n"]),
        ("\"\"\\\\\\\t,\n\n\rabNt", ["id\treceipt\tx\n", "id,receipt,x\n"]),
    ]

    @Test(
        "Arbitrary bytes never crash the parser and give the same rows for any chunk size and limit",
        arguments: alphabets)
    func anyBytes(alphabet: String, headers: [String]) throws {
        var random = SeededGenerator("CSV of any bytes, \(headers[0])")
        let alphabet = Array(alphabet.utf8)
        for _ in 0..<TestSize.pick(debug: 150, release: 1_500) {
            let header = headers.randomElement(using: &random) ?? ""
            var bytes = Array(header.utf8)
            let isAny = header == headers[0] && Bool.random(using: &random)
            for _ in 0..<Int.random(in: 0...200, using: &random) {
                let byte = alphabet.randomElement(using: &random) ?? 0
                bytes.append(isAny && Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : byte)
            }
            var limits = SourceLimits()
            limits.row = Int.random(in: 8...200, using: &random)
            limits.field = Bool.random(using: &random) ? limits.row / 2 : 64
            limits.quotedLines = Int.random(in: 1...8, using: &random)
            let whole = try rows(of: bytes, as: "a.csv", limits: limits)
            for chunk in [4, Int.random(in: 5...50, using: &random)] {
                limits.chunk = chunk
                #expect(try rows(of: bytes, as: "a.csv", limits: limits) == whole, "\(chunk): \(bytes)")
            }
            // The whole, including the header, may be rejected but must not crash.
            _ = try? rows(of: Array(bytes.dropFirst(header.utf8.count)), as: "a.csv")
        }
    }
}
