import Batch
import Foundation
import GRDB
import Storage
import Testing
import TestSupport

@Suite("Reading foreign tables")
struct SQLiteTableReaderTests {
    private func table(_ sql: String, in folder: TemporaryFolder) throws -> SQLiteTableReader {
        let queue = try DatabaseQueue(path: folder.path("a.db"))
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        return try SQLiteTableReader(path: folder.path("a.db"), options: SourceOptions(receiptColumn: "receipt"))
    }

    @Test("A table is read from the smallest possible rowid to the largest")
    func extremes() throws {
        let folder = try TemporaryFolder()
        let table = try table(
            """
            CREATE TABLE t (receipt);
            INSERT INTO t (rowid, receipt) VALUES (\(Int64.min), 'a'), (0, 'b'), (\(Int64.max), 'c')
            """, in: folder)
        var keys: [Int64] = []
        while let row = try table.rows(after: keys.last, maximumRows: 1, maximumBytes: 1, largestValue: 9).first {
            keys.append(row.key)
        }
        #expect(keys == [.min, 0, .max])
    }

    // T23
    @Test("A table whose keys do not ascend is damaged, and is not read without an end")
    func reversed() throws {
        let folder = try TemporaryFolder()
        let table = try table("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a'), ('b'), ('c')", in: folder)
        try DatabaseDamage.reverseRows(root: 2, in: folder.path("a.db"))
        let error = #expect(throws: StorageError.self) {
            try table.rows(after: nil, maximumRows: 9, maximumBytes: 9, largestValue: 9)
        }
        #expect(error.map { SourceError($0).code } == .damaged)
    }

    @Test("A batch ends at the byte limit, and values that are too large are left out")
    func bounds() throws {
        let folder = try TemporaryFolder()
        let table = try table(
            """
            CREATE TABLE t (receipt);
            INSERT INTO t VALUES ('12345'), (x'0102030405'), ('123456'), ('é345'), ('é3456'), ('1')
            """, in: folder)
        let all = try table.rows(after: nil, maximumRows: 10, maximumBytes: 100, largestValue: 5)
        #expect(
            all.map { if case .unreadable("tooLarge", _) = $0.value { true } else { false } } == [
                false, false, true, false, true, false,
            ])
        #expect(try table.rows(after: nil, maximumRows: 10, maximumBytes: 6, largestValue: 9).count == 2)
        #expect(try table.rows(after: 2, maximumRows: 10, maximumBytes: 0, largestValue: 9).isEmpty)
    }

    @Test("No lock is held between two batches, even if a batch ended early")
    func locks() throws {
        let folder = try TemporaryFolder()
        let table = try table("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a'), ('b'), ('c')", in: folder)
        #expect(try table.rows(after: nil, maximumRows: 3, maximumBytes: 1, largestValue: 9).count == 1)
        let writer = try DatabaseQueue(path: folder.path("a.db"))
        try writer.write { try $0.execute(sql: "INSERT INTO t VALUES ('d')") }
        #expect(try table.rows(after: 3, maximumRows: 3, maximumBytes: 9, largestValue: 9).count == 1)
    }

    @Test("A permission error is explained for a database in WAL mode, and only in that mode")
    func readOnlyFolder() throws {
        let folder = try TemporaryFolder()
        let error = StorageError(.notPermitted, at: "a.db", "unable to open database file")
        for (mode, isExplained) in [("WAL", true), ("DELETE", false)] {
            let path = folder.path("\(mode).db")
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA journal_mode = \(mode); CREATE TABLE t (receipt)")
            }
            try queue.close()
            let explained = SQLiteTableReader.explained(error, path: path)
            #expect(explained.code == .notPermitted)
            #expect(explained.reason.contains("\(path)-shm") == isExplained, "\(explained)")
        }
    }

    @Test(
        "A database in WAL mode in a directory without write permission is refused with that reason",
        .enabled(if: geteuid() != 0, "root may write everywhere: run the tests as an ordinary user"))
    func unwritableFolder() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (receipt)") }
        try queue.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.url.path) }
        let error = #expect(throws: StorageError.self) {
            try SQLiteTableReader(path: path, options: SourceOptions(receiptColumn: "receipt"))
        }
        #expect(error?.reason.contains("WAL mode") == true, "\(String(describing: error))")
    }

    @Test("Reading does not change the database")
    func readOnly() throws {
        let folder = try TemporaryFolder()
        let before = try table("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a')", in: folder)
        let bytes = try folder.read("a.db")
        _ = try before.rows(after: nil, maximumRows: 3, maximumBytes: 9, largestValue: 9)
        _ = try before.fingerprint()
        #expect(try folder.read("a.db") == bytes)
    }
}
