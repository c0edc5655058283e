import Foundation
import GRDB
import Ledger
import TestSupport
import Testing

@Suite("A table of somebody else's")
struct SQLiteTableReaderTests {
    private func table(_ sql: String, in folder: TemporaryFolder) throws -> SQLiteTableReader {
        let queue = try DatabaseQueue(path: folder.path("a.db"))
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        return try SQLiteTableReader(
            path: folder.path("a.db"), table: nil, receiptColumn: "receipt", idColumn: nil, accountTokenColumn: nil)
    }

    @Test("is read from the smallest rowid there can be to the largest")
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

    @Test("gives no more bytes at a time than it has to, and leaves out what is too large")
    func bounds() throws {
        let folder = try TemporaryFolder()
        let table = try table(
            """
            CREATE TABLE t (receipt);
            INSERT INTO t VALUES ('12345'), (x'0102030405'), ('123456'), ('é345'), ('é3456'), ('1')
            """, in: folder)
        let all = try table.rows(after: nil, maximumRows: 10, maximumBytes: 100, largestValue: 5)
        #expect(all.map { $0.value == .tooLarge } == [false, false, true, false, true, false])
        #expect(try table.rows(after: nil, maximumRows: 10, maximumBytes: 6, largestValue: 9).count == 2)
        #expect(try table.rows(after: 2, maximumRows: 10, maximumBytes: 0, largestValue: 9).isEmpty)
    }

    @Test("holds no lock between two batches, even when a batch was cut short")
    func locks() throws {
        let folder = try TemporaryFolder()
        let table = try table("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a'), ('b'), ('c')", in: folder)
        #expect(try table.rows(after: nil, maximumRows: 3, maximumBytes: 1, largestValue: 9).count == 1)
        let writer = try DatabaseQueue(path: folder.path("a.db"))
        try writer.write { try $0.execute(sql: "INSERT INTO t VALUES ('d')") }
        #expect(try table.rows(after: 3, maximumRows: 3, maximumBytes: 9, largestValue: 9).count == 1)
    }

    @Test("in WAL mode says what is missing if it may not be read, and only in that mode")
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

    @Test("in WAL mode, in a folder that cannot be written, is refused with that reason", .enabled(if: geteuid() != 0))
    func unwritableFolder() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (receipt)") }
        try queue.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.url.path) }
        let error = #expect(throws: StorageError.self) {
            try SQLiteTableReader(
                path: path, table: nil, receiptColumn: "receipt", idColumn: nil, accountTokenColumn: nil)
        }
        #expect(error?.reason.contains("WAL mode") == true, "\(String(describing: error))")
    }

    @Test("cannot be written through")
    func readOnly() throws {
        let folder = try TemporaryFolder()
        let before = try table("CREATE TABLE t (receipt); INSERT INTO t VALUES ('a')", in: folder)
        let bytes = try folder.read("a.db")
        _ = try before.rows(after: nil, maximumRows: 3, maximumBytes: 9, largestValue: 9)
        _ = try before.landmarks()
        #expect(try folder.read("a.db") == bytes)
    }
}
