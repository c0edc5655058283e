import ReceiptBridgeBatch
import Testing
import ReceiptBridgeTestSupport

/// What is said about a source before its rows are read.
@Suite("Columns and keys of sources")
struct SourceNoticeTests {
    private static let receipt = String(repeating: "MIIT8w+/", count: 40)

    /// Sources and what is wrong with their ids; `nil` if nothing is.
    static let notices: [(name: String, text: String, notice: String?)] = [
        ("a.csv", "id,receipt\na,MIIT\n", nil), ("a.csv", "_id,receipt\na,MIIT\n", nil),
        ("a.csv", "objectId,receipt\na,MIIT\n", nil), ("a.csv", "receipt\n", nil),
        (
            "a.csv", "user_id,comment,receipt\n7,x,\(receipt)\n8,x,\(receipt)\n",
            "there is no column id, so the rows are called #1, #2, …; the values of user_id are all different: "
                + "use --id-column user_id"
        ),
        (
            "a.csv", "name;receipt;Uid\nann;\(receipt);\nbob;\(receipt);1\n",
            "there is no column id, so the rows are called #1, #2, …; the values of name are all different: "
                + "use --id-column name"
        ),
        (
            "a.csv", "user_id,orderId,receipt\n7,1,\(receipt)\n8,2,\(receipt)\n",
            "there is no column id, so the rows are called #1, #2, …; the values of user_id, orderId are all different: "
                + "choose one with --id-column"
        ),
        ("a.csv", "receipt\n\(receipt)\n", "there is no column id, so the rows are called #1, #2, …"),
        (
            "a.csv", "id,receipt,key\n,\(receipt),k1\n,\(receipt),k2\n",
            "the column id is empty in the first rows, which are called #1, #2, …; the values of key are all different: "
                + "use --id-column key"
        ),
        (
            "a.csv", "id;receipt\n2,00E+15;MIIT\n2,00E+15;MIIT\n",
            "the values of id are numbers that a spreadsheet has rounded, for example 2,00E+15; export the ids as text"
        ),
        ("a.csv", "id,receipt\n1E+5,MIIT\n5E10,MIIT\nE+12,MIIT\n", nil),
        ("a.jsonl", #"{"id":"a","receipt":"MIIT"}"#, nil), ("a.jsonl", #"{"_id":{"$oid":"5f"},"receipt":"MIIT"}"#, nil),
        ("a.jsonl", #"{"ID":7,"receipt":"MIIT"}"#, nil), ("a.jsonl", "", nil), ("a.jsonl", "x\n", nil),
        (
            "a.jsonl", "{\"user\":\"a\",\"receipt\":\"\(receipt)\"}\n{\"receipt\":\"\(receipt)\",\"user\":\"b\"}\n",
            "there is no column id, so the rows are called #1, #2, …; the values of user are all different: "
                + "use --id-column user"
        ),
        (
            "a.jsonl", #"{"id":2.0E+15,"receipt":"MIIT"}"#,
            "the values of id are numbers that a spreadsheet has rounded, for example 2.0E+15; export the ids as text"
        ),
    ]

    @Test("A source in which no row has an id, or whose ids are rounded, is reported", arguments: notices.indices)
    func notice(index: Int) throws {
        let (name, text, notice) = Self.notices[index]
        let folder = try TemporaryFolder()
        #expect(try Sources.open(folder.write(name, text)).notices == [notice].compactMap(\.self))
        #expect(try Sources.open(folder.path(name), for: .filter).notices.isEmpty)
    }

    @Test("A table in which no row has an id is reported")
    func table() throws {
        let folder = try TemporaryFolder()
        let rows = "INSERT INTO t VALUES ('7', '\(Self.receipt)'), ('8', '\(Self.receipt)')"
        try makeDatabase(folder.path("a.db"), "CREATE TABLE t (user_id, receipt); \(rows)")
        let notice =
            "there is no column id, so the rows are called #1, #2, …; the values of user_id are all different: "
            + "use --id-column user_id"
        #expect(try Sources.open(folder.path("a.db")).notices == [notice])
        let named = SourceOptions(idColumn: "user_id")
        #expect(try Sources.open(folder.path("a.db"), options: named).notices.isEmpty)
    }

    static let misspelt: [(options: SourceOptions, reason: String)] = [
        (SourceOptions(receiptColumn: "reciept", idColumn: "userid"), ". Did you mean user_id?"),
        (SourceOptions(receiptColumn: "reciept", idColumn: "User ID"), ". Did you mean user_id?"),
        (
            SourceOptions(receiptColumn: "reciept", idColumn: "key"),
            "; the values of user_id are all different: use --id-column user_id"
        ),
        (SourceOptions(receiptColumn: "receipt"), ". Did you mean reciept?"),
        (
            SourceOptions(receiptColumn: "data"),
            "; the values of reciept look like receipts: use --receipt-column reciept"
        ),
        (
            SourceOptions(receiptColumn: "reciept", accountTokenColumn: "Usr"),
            "; the values of token look like UUIDs: use --account-token-column token"
        ),
        (SourceOptions(receiptColumn: "reciept", transactionIdColumn: "tokem"), ". Did you mean token?"),
    ]

    @Test(
        "A misspelt column, key or table is an error with the one that may be meant for it", arguments: misspelt.indices
    )
    func misspelling(index: Int) throws {
        let (options, reason) = Self.misspelt[index]
        let folder = try TemporaryFolder()
        let token = "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"
        let rows = ["7", "8"].map { "\($0),x,\(Self.receipt),\(token)" }
        try folder.write("a.csv", "user_id,comment,reciept,token\n\(rows.joined(separator: "\n"))\n")
        let lines = ["7", "8"].map {
            #"{"user_id":\#($0),"comment":"x","reciept":"\#(Self.receipt)","token":"\#(token)"}"#
        }
        try folder.write("a.jsonl", lines.joined(separator: "\n"))
        let values = ["7", "8"].map { "('\($0)', 'x', '\(Self.receipt)', '\(token)')" }.joined(separator: ",")
        try makeDatabase(
            folder.path("a.db"),
            "CREATE TABLE receipts (user_id, comment, reciept, token); INSERT INTO receipts VALUES \(values)")
        for name in ["a.csv", "a.jsonl", "a.db"] {
            let error = #expect(throws: SourceError.self) { _ = try Sources.open(folder.path(name), options: options) }
            #expect(error?.code == .missingColumn, "\(name)")
            #expect(error?.reason.hasSuffix("there are: user_id, comment, reciept, token\(reason)") == true, "\(error)")
        }
        let table = #expect(throws: SourceError.self) {
            _ = try Sources.open(folder.path("a.db"), options: SourceOptions(table: "reciepts"))
        }
        #expect(table?.reason.hasSuffix("choose one with --table. Did you mean receipts?") == true)
    }

    @Test("A key that only a later line has is found; without a line nothing is missing")
    func laterKeys() throws {
        let folder = try TemporaryFolder()
        let line = "{\"id\":\"a\",\"receipt\":\"\(Self.receipt)\"}\n"
        let path = try folder.write("a.jsonl", String(repeating: line, count: 6_000) + #"{"token":"x"}"#)
        _ = try Sources.open(path, options: SourceOptions(accountTokenColumn: "token"))
        let error = #expect(throws: SourceError.self) {
            _ = try Sources.open(path, options: SourceOptions(accountTokenColumn: "user"))
        }
        #expect(error?.reason == "no column user; there are: id, receipt")
        for text in ["", "x\n"] {
            #expect(
                try Sources.open(folder.write("b.jsonl", text), options: SourceOptions(receiptColumn: "y")).notices
                    .isEmpty)
        }
    }
}
