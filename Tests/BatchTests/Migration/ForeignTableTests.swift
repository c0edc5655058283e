import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Reading foreign tables")
struct ForeignTableTests {
    private func write(_ sql: String, in folder: TemporaryFolder) throws { try makeDatabase(folder.path("a.db"), sql) }

    private func open(_ folder: TemporaryFolder, largestValue: Int = 9) throws -> any RowSource {
        var limits = SourceLimits()
        limits.row = largestValue
        return try Sources.open(folder.path("a.db"), options: SourceOptions(receiptColumn: "receipt"), limits: limits)
    }

    @Test("A table is read from the smallest possible rowid to the largest")
    func extremes() throws {
        let folder = try TemporaryFolder()
        try write(
            """
            CREATE TABLE t (receipt);
            INSERT INTO t (rowid, receipt) VALUES (\(Int64.min), 'a'), (0, 'b'), (\(Int64.max), 'c')
            """, in: folder)
        var table = try open(folder)
        var values: [StoredValue] = []
        while let batch = try table.next(maximumRows: 1, maximumBytes: 1) { values += batch.rows.map(\.value) }
        #expect(values == ["a", "b", "c"].map { StoredValue.bytes(Array($0.utf8)) })
    }

    // T23
    @Test("A table whose keys do not ascend is damaged, and is not read without an end")
    func reversed() throws {
        let folder = try TemporaryFolder()
        try write("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a'), ('b'), ('c')", in: folder)
        try DatabaseDamage.reverseRows(root: 2, in: folder.path("a.db"))
        var table = try open(folder)
        let error = #expect(throws: SourceError.self) { _ = try table.next(maximumRows: 9, maximumBytes: 9) }
        #expect(error?.code == .damaged)
    }

    @Test("A batch ends at the byte limit, and values that are too large are left out")
    func bounds() throws {
        let folder = try TemporaryFolder()
        try write(
            """
            CREATE TABLE t (receipt);
            INSERT INTO t VALUES ('12345'), (x'0102030405'), ('123456'), ('é345'), ('é3456'), ('1')
            """, in: folder)
        var narrow = try open(folder, largestValue: 5)
        let all = try narrow.next(maximumRows: 10, maximumBytes: 100)
        #expect(
            all?.rows.map { if case .unreadable("tooLarge", _) = $0.value { true } else { false } } == [
                false, false, true, false, true, false,
            ])
        var table = try open(folder)
        let first = try table.next(maximumRows: 10, maximumBytes: 6)
        #expect(first?.rows.count == 2)
    }

    @Test("No lock is held between two batches, even if a batch ended early")
    func locks() throws {
        let folder = try TemporaryFolder()
        try write("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a'), ('b'), ('c')", in: folder)
        var table = try open(folder)
        let first = try table.next(maximumRows: 3, maximumBytes: 1)
        #expect(first?.rows.count == 1)
        let writer = try DatabaseQueue(path: folder.path("a.db"))
        try writer.write { try $0.execute(sql: "INSERT INTO t VALUES ('d')") }
        let rest = try table.next(maximumRows: 9, maximumBytes: 9)
        #expect(rest?.rows.count == 3)
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

    @Test("Reading does not change the database")
    func readOnly() throws {
        let folder = try TemporaryFolder()
        try write("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a')", in: folder)
        let bytes = try folder.read("a.db")
        var table = try open(folder)
        _ = try table.next(maximumRows: 3, maximumBytes: 9)
        _ = try table.comparison(with: table.identity)
        #expect(try folder.read("a.db") == bytes)
    }
}
