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

    @Test("The error for a missing column lists the existing columns")
    func missingColumns() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("a.csv", "user,data,\"a,b\"\n1,2,3\n")
        #expect(
            throws: SourceError(.missingColumn, at: path, "no column receipt; there are: user, data, a,b")
        ) { _ = try Sources.open(path) }
        #expect(throws: SourceError(.missingColumn, at: path, "no column id; there are: user, data, a,b")) {
            _ = try Sources.open(path, options: SourceOptions(receiptColumn: "data", idColumn: "id"))
        }
        #expect(throws: SourceError(.missingColumn, at: path, "no column token; there are: user, data, a,b")) {
            _ = try Sources.open(path, options: SourceOptions(receiptColumn: "data", accountTokenColumn: "token"))
        }
        let options = SourceOptions(receiptColumn: "data", idColumn: "user", accountTokenColumn: "a,b")
        var source = try Sources.open(path, options: options)
        #expect(try source.rest() == [.text(1, "1", "2", token: "3")])
    }

    @Test(
        "A name that several columns have, or several columns that can hold the receipt, are an error",
        arguments: [
            ("receipt,id,receipt", "there are several columns receipt, so it is not clear which one to use"),
            ("id,receipt,id", "there are several columns id, so it is not clear which one to use"),
            ("RECEIPT,Receipt", "there are several columns receipt, so it is not clear which one to use"),
            (
                "receipt_data,x,latest_receipt",
                "no column receipt, and several that can hold it: receipt_data, latest_receipt;"
                    + " choose one with --receipt-column"
            ),
        ])
    func repeatedColumns(header: String, reason: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("a.csv", header + "\n1,2,3\n")
        #expect(throws: SourceError(.ambiguousColumn, at: path, reason)) { _ = try Sources.open(path) }
        // A repeated column that is not used does not matter.
        #expect(try rows(of: "x,x,receipt\n1,2,MIIT\n", as: "a.csv") == [.text(1, nil, "MIIT")])
    }

    @Test("The error for a missing column names the columns whose values look like receipts, or other separators")
    func suggestions() throws {
        let receipt = String(repeating: "MIIT8w+/", count: 40)
        let hint = "the values of data look like receipts: use --receipt-column data"
        let texts: [(text: String, reason: String)] = [
            ("id,note,data\n1,,\n2,x,\"\(receipt)\"\n3,x", "there are: id, note, data; \(hint)"),
            ("id,data\n1,\(receipt)", "there are: id, data; \(hint)"),
            (
                "a,b\n\(receipt),\(receipt)\n",
                "there are: a, b; the values of a, b look like receipts: choose one with --receipt-column"
            ),
            ("id:data\n", "there are: id:data; columns are separated by a comma, semicolon, tab or |"),
        ]
        let folder = try TemporaryFolder()
        for (text, reason) in texts {
            let path = try folder.write("a.csv", text)
            #expect(throws: SourceError(.missingColumn, at: path, "no column receipt; \(reason)")) {
                _ = try Sources.open(path)
            }
        }
    }

    /// Rows without a header, with and without a line break; terminal escape sequences.
    static let rowsFirst = [
        "a,\(String(repeating: "SECRET", count: 11))\nb,MIIU\n", "a,b,\(String(repeating: "SECRET", count: 11))",
        "id\u{1B}[2J,SECRET\n", "id\u{9B}2J,SECRET\n", "17,SECRET\n",
    ]

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

    @Test("The error contains no text of a first line that is not a header", arguments: rowsFirst)
    func silence(text: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("a.csv", text)
        let reason =
            "no column data; the first line does not look like a header; "
            + "a CSV file must start with a line of column names that includes data"
        #expect(throws: SourceError(.missingColumn, at: path, reason)) {
            _ = try Sources.open(path, options: SourceOptions(receiptColumn: "data"))
        }
    }

    @Test("The error lists a limited number of columns with limited length")
    func manyColumns() throws {
        let folder = try TemporaryFolder()
        let names = (1...22).map { "c\($0)" }
        let listed = names.prefix(20).joined(separator: ", ") + " and 2 more"
        let longest = String(repeating: "n", count: 64)
        for (header, expected) in [(names.joined(separator: ","), listed), (longest, longest)] {
            let path = try folder.write("a.csv", header + "\n")
            #expect(throws: SourceError(.missingColumn, at: path, "no column receipt; there are: \(expected)")) {
                _ = try Sources.open(path)
            }
        }
    }

    @Test(
        "A file without a header is rejected",
        arguments: [
            ("", SourceError.Code.malformed), ("\n", .malformed), ("\"receipt", .malformed),
            ("\"receipt\"x,id\n", .malformed),
        ])
    func noHeader(text: String, code: SourceError.Code) {
        #expect(refusal(of: text, as: "a.csv") == code)
    }

    @Test("A header with too many bytes or columns is rejected")
    func largeHeader() {
        #expect(refusal(of: String(repeating: "x", count: 2 << 20), as: "a.csv") == .malformed)
        #expect(refusal(of: String(repeating: ",", count: 5_000) + "\n", as: "a.csv") == .malformed)
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

    @Test("A last record without a line break is a separate batch, and is read again after the file has grown")
    func unfinishedTail() throws {
        for (tail, rest, code) in [("b,\"MI", "\nIT\"\nc,MIIU\n", "malformedQuotes"), ("b,MI", "IT\nc,MIIU\n", nil)] {
            let folder = try TemporaryFolder()
            let path = try folder.write("a.csv", "id,receipt\na,MIIT\n\(tail)")
            var source = try Sources.open(path)
            let first = try #require(try source.next(maximumRows: 10, maximumBytes: 1_000))
            #expect(first.rows == [.text(1, "a", "MIIT")])
            let second = try #require(try source.next(maximumRows: 10, maximumBytes: 1_000))
            #expect(second.isUnfinishedTail)
            #expect(second.end == first.end)
            #expect(second.rows.map(\.value.code) == [code])
            #expect(second.rows.map(\.id) == ["b"])
            #expect(try source.next(maximumRows: 10, maximumBytes: 1_000) == nil)

            try folder.append("a.csv", rest.utf8)
            var grown = try Sources.open(path, at: second.end)
            #expect(try grown.comparison(with: source.identity) == .grown)
            #expect(try grown.rest().map(\.number) == [2, 3])
        }
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

    @Test("Arbitrary bytes never crash the parser and give the same rows for any chunk size")
    func anyBytes() throws {
        var random = SeededGenerator("CSV of any bytes")
        let alphabet = Array("\"\",,;\n\n\rab\t\0é\u{FEFF}".utf8)
        for _ in 0..<TestSize.pick(debug: 200, release: 1_000) {
            let header = Bool.random(using: &random) ? "id,receipt\n" : "receipt;id\r\n"
            var bytes = Array(header.utf8)
            for _ in 0..<Int.random(in: 0...200, using: &random) {
                bytes.append(
                    Bool.random(using: &random)
                        ? alphabet.randomElement(using: &random) ?? 0 : UInt8.random(in: 0...255, using: &random))
            }
            var limits = SourceLimits()
            limits.row = Int.random(in: 8...200, using: &random)
            limits.field = limits.row / 2
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
