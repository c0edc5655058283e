import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("SQLite source")
struct TableSourceTests {
    private func source(_ sql: String, _ options: SourceOptions = SourceOptions()) throws -> [SourceRow] {
        let folder = try TemporaryFolder()
        try makeDatabase(folder.path("a.sqlite"), sql)
        var source = try Sources.open(folder.path("a.sqlite"), options: options)
        return try source.rest([2, 1])
    }

    private func refusal(_ sql: String, _ options: SourceOptions = SourceOptions()) throws -> SourceError? {
        do {
            _ = try source(sql, options)
            return nil
        } catch let error as SourceError {
            return error
        }
    }

    @Test("Text and bytes are returned as stored, and numbers as text, in the order of rowids")
    func values() throws {
        let rows = try source(
            """
            CREATE TABLE stored (id, receipt);
            INSERT INTO stored (rowid, id, receipt) VALUES
                (9, 'nine', 'MIIT'), (-3, NULL, x'3082FF00'), (1, 7, 'a' || char(0) || 'é'), (2, x'00AF', NULL),
                (3, '', 'NULL'), (4, 1.5, 17), (5, 'e', x''), (6, 'f', 2.5);
            """)
        #expect(
            rows == [
                SourceRow(number: 1, id: nil, value: .bytes([0x30, 0x82, 0xFF, 0])), .text(2, "7", "a\0é"),
                SourceRow(number: 3, id: "00af", value: .missing), SourceRow(number: 4, id: nil, value: .missing),
                .text(5, "1.5", "17"), SourceRow(number: 6, id: "e", value: .missing), .text(7, "f", "2.5"),
                .text(8, "nine", "MIIT"),
            ])
    }

    @Test("An id that is text but not UTF-8 makes the row unreadable")
    func malformedId() throws {
        let rows = try source(
            """
            CREATE TABLE t (id TEXT, receipt);
            INSERT INTO t VALUES (CAST(x'61E9' AS TEXT), 'MIIT'), (CAST(x'61C3A9' AS TEXT), 'MIIT')
            """)
        #expect(rows.map(\.value.code) == ["malformedId", nil])
        #expect(rows.map(\.id) == [nil, "aé"])
    }

    @Test("Text in a UTF-16 database is read")
    func wideText() throws {
        let rows = try source(
            "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (id TEXT, receipt TEXT); INSERT INTO t VALUES ('é', 'MIIT')")
        #expect(rows == [.text(1, "é", "MIIT")])
    }

    static let tables: [(sql: String, table: String?, rows: [String])] = [
        ("CREATE TABLE x (receipt); INSERT INTO x VALUES ('x')", nil, ["x"]),
        ("CREATE TABLE x (receipt); CREATE TABLE Receipts (receipt); INSERT INTO Receipts VALUES ('y')", nil, ["y"]),
        ("CREATE TABLE x (receipt); CREATE TABLE y (receipt); INSERT INTO y VALUES ('y')", "Y", ["y"]),
        ("CREATE TABLE x (receipt); CREATE VIEW receipts AS SELECT * FROM x; INSERT INTO x VALUES ('x')", nil, ["x"]),
        // Names that look like SQL.
        (#"CREATE TABLE "a "" b; DROP TABLE" ("receipt"); INSERT INTO "a "" b; DROP TABLE" VALUES ('x')"#, nil, ["x"]),
        (
            #"CREATE TABLE "select" (receipt, "rowid", "oid" TEXT); INSERT INTO "select" VALUES ('x', 3, 'y')"#, nil,
            ["x"]
        ),
        (
            "CREATE TABLE x (receipt, rowid, oid, _rowid_ INTEGER PRIMARY KEY); INSERT INTO x VALUES ('x', 2, 3, 4)",
            nil, ["x"]
        ),
        // An integer primary key is used if there are no rowids.
        (
            "CREATE TABLE x (k INTEGER PRIMARY KEY, receipt) WITHOUT ROWID; INSERT INTO x VALUES (7, 'x'), (3, 'y')",
            nil, ["y", "x"]
        ),
        ("CREATE TABLE x (Latest_Receipt); INSERT INTO x VALUES ('x')", nil, ["x"]),
        ("CREATE TABLE x (a, receipt AS (a || 'z')); INSERT INTO x VALUES ('x')", nil, ["xz"]),
        ("CREATE TABLE x (receipt)", nil, []),
    ]

    @Test("The table is selected by name or as the only one", arguments: tables)
    func table(sql: String, table: String?, values: [String]) throws {
        let rows = try source(sql, SourceOptions(table: table))
        #expect(rows == zip(1..., values).map { .text($0, nil, $1) })
    }

    static let refusals: [(sql: String, options: SourceOptions, code: SourceError.Code, words: String)] = [
        ("CREATE TABLE x (receipt); CREATE TABLE y (receipt)", SourceOptions(), .missingTable, "x, y"),
        ("CREATE TABLE x (receipt)", SourceOptions(table: "y"), .missingTable, "no table y; there are: x"),
        (
            "CREATE TABLE x (receipt); CREATE TABLE y (receipt)", SourceOptions(), .missingTable,
            "choose one with --table"
        ),
        ("SELECT 1", SourceOptions(), .missingTable, "there is none"),
        (
            "CREATE TABLE x (a, b); INSERT INTO x VALUES (1, NULL), (x'3082', hex(zeroblob(200)))", SourceOptions(),
            .missingColumn, "there are: a, b; the values of b look like receipts: use --receipt-column b"
        ),
        (
            "CREATE TABLE x (receipt_data, latest_receipt)", SourceOptions(), .missingColumn,
            "receipt_data, latest_receipt"
        ),
        ("CREATE TABLE x (a, b)", SourceOptions(), .missingColumn, "no column receipt; there are: a, b"),
        ("CREATE TABLE x (a, receipt)", SourceOptions(idColumn: "id"), .missingColumn, "no column id"),
        ("CREATE TABLE x (receipt)", SourceOptions(accountTokenColumn: "t"), .missingColumn, "no column t"),
        (
            "CREATE TABLE x (r); CREATE VIEW v AS SELECT r AS receipt FROM x", SourceOptions(table: "v"),
            .unusableTable, "view"
        ),
        ("CREATE TABLE x (k TEXT PRIMARY KEY, receipt) WITHOUT ROWID", SourceOptions(), .unusableTable, "rowid"),
        (
            "CREATE TABLE x (k INTEGER PRIMARY KEY, receipt) WITHOUT ROWID; INSERT INTO x VALUES ('k', 'MIIT')",
            SourceOptions(), .unusableTable, "not an integer"
        ),
    ]

    @Test("The error for a missing table or column lists the existing ones", arguments: refusals)
    func refused(sql: String, options: SourceOptions, code: SourceError.Code, words: String) throws {
        let error = try #require(try refusal(sql, options))
        #expect(error.code == code)
        #expect(error.reason.contains(words), "\(error)")
    }

    @Test("A file that is not a database and a missing file are rejected")
    func noDatabase() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("a.db", String(repeating: "not a database ", count: 100))
        #expect(#expect(throws: SourceError.self) { _ = try Sources.open(path) }?.code == .malformed)
        let missing = folder.path("b.sqlite")
        #expect(#expect(throws: SourceError.self) { _ = try Sources.open(missing) }?.code == .notFound)
    }

    @Test("A database is read while other processes write, in either journal mode", arguments: ["DELETE", "WAL"])
    func otherWriters(mode: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.sqlite")
        let writer = try DatabaseQueue(path: path)
        func write(_ sql: String) throws { try writer.writeWithoutTransaction { try $0.execute(sql: sql) } }
        try write("PRAGMA journal_mode = \(mode); CREATE TABLE receipts (id, receipt)")
        for number in 1...10 { try write("INSERT INTO receipts VALUES ('\(number)', 'r\(number)')") }
        var source = try Sources.open(path)
        let first = try #require(try source.next(maximumRows: 9, maximumBytes: 9))
        // No lock is held between two batches, even if a batch ended early.
        try write("DELETE FROM receipts WHERE id = '2'; INSERT INTO receipts VALUES ('11', 'r11')")
        try write("INSERT INTO receipts (rowid, id, receipt) VALUES (2, 'late', 'r')")
        let rest = try source.rest([3])
        #expect((first.rows + rest).map(\.id) == (1...11).map { "\($0)" })
        try write("INSERT INTO receipts VALUES ('12', 'r12')")
        #expect(try source.rest().map(\.id) == ["12"])

        var again = try Sources.open(path, at: first.end)
        #expect(try again.comparison(with: source.identity) == .grown)
        #expect(try again.rest().map(\.id) == (6...12).map { "\($0)" })
        try write("DELETE FROM receipts WHERE rowid > 3")
        #expect(try again.comparison(with: source.identity) != .grown)
    }

    @Test("A different first row, definition or table is a different source")
    func identity() throws {
        let folder = try TemporaryFolder()
        let statements = [
            "CREATE TABLE x (id, receipt); INSERT INTO x VALUES (1, 'a')",
            "CREATE TABLE x (id, receipt); INSERT INTO x VALUES (2, 'a')",
            "CREATE TABLE x (id, receipt, y); INSERT INTO x VALUES (1, 'a', 2)",
            "CREATE TABLE z (id, receipt); INSERT INTO z VALUES (1, 'a')",
        ]
        let sources = try statements.enumerated().map { number, sql in
            try makeDatabase(folder.path("\(number).db"), sql)
            return try Sources.open(folder.path("\(number).db"))
        }
        let identity = sources[0].identity
        let kept = try JSONDecoder().decode(SourceIdentity.self, from: JSONEncoder().encode(identity))
        #expect(try sources[0].comparison(with: kept) == .same)
        for other in sources.dropFirst() {
            #expect(try other.comparison(with: identity) == .changed("its beginning has changed"))
        }
    }

    @Test("A table is read from the smallest possible rowid to the largest")
    func extremes() throws {
        let rows = try source(
            """
            CREATE TABLE t (receipt);
            INSERT INTO t (rowid, receipt) VALUES (\(Int64.min), 'a'), (0, 'b'), (\(Int64.max), 'c')
            """)
        #expect(rows.map(\.value) == ["a", "b", "c"].map(StoredValue.text))
    }

    // T23
    @Test("A table whose keys do not ascend is damaged, and is not read without an end")
    func reversed() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        try makeDatabase(path, "CREATE TABLE t (receipt); INSERT INTO t VALUES ('a'), ('b'), ('c')")
        try DatabaseDamage.reverseRows(root: 2, in: path)
        var table = try Sources.open(path)
        let error = #expect(throws: SourceError.self) { _ = try table.next(maximumRows: 9, maximumBytes: 9) }
        #expect(error?.code == .damaged)
    }

    @Test("A batch ends at the byte limit, and values that are too large are left out; the database does not change")
    func bounds() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        try makeDatabase(
            path,
            """
            CREATE TABLE t (receipt);
            INSERT INTO t VALUES ('12345'), (x'0102030405'), ('123456'), ('é345'), ('é3456'), ('1')
            """)
        let bytes = try folder.read("a.db")
        var limits = SourceLimits()
        limits.row = 5
        var narrow = try Sources.open(path, limits: limits)
        let codes = [nil, nil, "tooLarge", nil, "tooLarge", nil]
        #expect(try narrow.next(maximumRows: 10, maximumBytes: 100)?.rows.map(\.value.code) == codes)
        var table = try Sources.open(path)
        #expect(try table.next(maximumRows: 10, maximumBytes: 6)?.rows.count == 2)
        _ = try table.comparison(with: table.identity)
        #expect(try folder.read("a.db") == bytes)
    }

    @Test("A permission error is explained for a database in WAL mode, and only in that mode")
    func readOnlyFolder() throws {
        let folder = try TemporaryFolder()
        let error = StorageError(.notPermitted, at: "a.db", "unable to open database file")
        for (mode, isExplained) in [("WAL", true), ("DELETE", false)] {
            let path = folder.path("\(mode).db")
            try makeDatabase(path, "PRAGMA journal_mode = \(mode); CREATE TABLE t (receipt)")
            let explained = SourceError(opening: path, error)
            #expect(explained.code == .notReadable)
            #expect(explained.reason.contains("\(path)-shm") == isExplained, "\(explained)")
        }
    }

    @Test(
        "A database in WAL mode in a directory without write permission is refused with that reason",
        .enabled(if: geteuid() != 0, "root may write everywhere: run the tests as an ordinary user"))
    func unwritableFolder() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        try makeDatabase(path, "PRAGMA journal_mode = WAL; CREATE TABLE t (receipt)")
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.url.path) }
        let error = #expect(throws: SourceError.self) { _ = try Sources.open(path) }
        #expect(error?.reason.contains("WAL mode") == true, "\(String(describing: error))")
    }
}
