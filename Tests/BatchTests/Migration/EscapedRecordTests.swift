import ReceiptBridgeBatch
import Testing
import ReceiptBridgeTestSupport

@Suite("Exports with backslashes")
struct EscapedRecordTests {
    /// An export of the same three rows by a program, whose notes contain quotes, a separator, a backslash and a line
    /// break.
    static let exports: [(program: String, text: String)] = [
        (
            "MySQL: INTO OUTFILE",
            """
            id\treceipt\tnote
            a\tMIIT\t"He\\\tsaid" \\\\o/\\
            at once
            b\tMIIU\t"x
            c\tMIIV\t\\N

            """
        ),
        (
            "MySQL: INTO OUTFILE with commas and quotes",
            """
            "id","receipt","note"
            "a","MIIT","He, \\"said\\" \\\\o/\\
            at once"
            "b","MIIU","\\"x"
            "c","MIIV",\\N

            """
        ),
        (
            "MySQL: INTO OUTFILE with commas",
            """
            id,receipt,note
            a,MIIT,He\\, "said" \\\\o/\\
            at once
            b,MIIU,"x\\, y
            c,MIIV,\\N

            """
        ),
        (
            "mysql --batch",
            """
            id\treceipt\tnote
            a\tMIIT\t"He\\tsaid" \\\\o/\\nat once
            b\tMIIU\t"x
            c\tMIIV\tNULL

            """
        ),
        (
            "PostgreSQL: COPY",
            """
            id\treceipt\tnote
            a\tMIIT\t"He" said\\t\\\\o/\\nat once
            b\tMIIU\t"x
            c\tMIIV\t\\N

            """
        ),
        (
            "psql -A",
            """
            id|receipt|note
            a|MIIT|"He" said \\o/
            b|MIIU|"x
            c|MIIV|

            """
        ),
        (
            "Spark",
            """
            id,receipt,note
            a,MIIT,"He said \\"yes\\", \\o/
            at once"
            b,MIIU,"\\"x, y\\""
            c,MIIV,

            """
        ),
        (
            "Spark with tabs and all quotes",
            """
            "id"\t"receipt"\t"note"
            "a"\t"MIIT"\t"He said \\"yes\\""
            "b"\t"MIIU"\t"x \\"\\ty\\"
            z"
            "c"\t"MIIV"\t""

            """
        ),
    ]

    static let expected: [SourceRow] = [.text(1, "a", "MIIT"), .text(2, "b", "MIIU"), .text(3, "c", "MIIV")]

    @Test("Each row is read, in any pieces, and from any position", arguments: exports.indices)
    func export(index: Int) throws {
        let (program, text) = Self.exports[index]
        let folder = try TemporaryFolder()
        let path = try folder.write("a.csv", text)
        for chunk in [4, 5, 7, 64, 1 << 18] {
            var limits = SourceLimits()
            limits.chunk = chunk
            var source = try Sources.open(path, limits: limits)
            let first = try #require(try source.next(maximumRows: 1, maximumBytes: 1))
            #expect(try first.rows + source.rest([1]) == Self.expected, "\(program) in pieces of \(chunk)")
            var rest = try Sources.open(path, limits: limits, at: first.end)
            #expect(try first.rows + rest.rest() == Self.expected, "\(program) from row 2")
        }
        // The end of the file without a line break.
        #expect(try rows(of: String(text.dropLast()), as: "a.csv") == Self.expected, "\(program)")
    }

    @Test("Escapes are removed from ids and receipts of a record that is read a second time")
    func values() throws {
        let text = #"""
            id,receipt,note
            "a\\\"b","{\"x\":\"M\/\\n\"}","\""
            \N,M\,I,x

            """#
        #expect(
            try rows(of: text, as: "a.csv") == [
                .text(1, #"a\"b"#, #"{"x":"M/\n"}"#), .text(2, #"\N"#, "M,I"),
            ])
    }

    @Test(
        "The first reading counts if it fits, and a malformed record stays malformed if no reading fits",
        arguments: [
            // A backslash is an ordinary byte according to RFC 4180.
            ("id,receipt,x\na,MIIT,C:\\\nb,MIIU,\\\"\n", [nil, nil]),
            ("id,receipt,x\na,MIIT,\"C:\\\"\nb,MIIU,\\,\n", [nil, nil]),
            // Quotes around line breaks and separators.
            ("id\treceipt\tx\na\tMIIT\t\"x\ty\nz\"\nb\tMIIU\t\"y\n\"\n", [nil, nil]),
            ("id\tx\treceipt\na\t\"x\ty\nz\"\tMIIT\nb\tx\tMIIU\n", [nil, nil]),
            ("receipt\n\"MI\\\"\nIT\"\n", [nil, nil]),
            ("id,receipt,x\na,MIIT,\"x\" y\nb,MIIU\n", ["malformedQuotes", "wrongFieldCount"]),
            ("id;receipt;x\na;MIIT;\"x\" y\nb;MIIU;\"\\\"\"z\n", ["malformedQuotes", "malformedQuotes"]),
            ("id\treceipt\tx\na\tMIIT\tx\ty\nb\tMIIU\n", ["wrongFieldCount", "wrongFieldCount"]),
        ])
    func readings(text: String, codes: [String?]) throws {
        for chunk in [4, 7, 1 << 18] {
            var limits = SourceLimits()
            limits.chunk = chunk
            #expect(try rows(of: text, as: "a.csv", limits: limits).map(\.value.code) == codes, "\(text)")
        }
    }
}
