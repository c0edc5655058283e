import Batch
import Foundation
import GRDB
import Storage
import Testing
import TestSupport

@Suite("Results table")
struct ResultsTableTests {
    private let columns = [ResultsTable.Column("id", .text), .init("a \"b\"", .integer), .init("c", .text)]

    private func open(_ folder: TemporaryFolder, keeping rows: Int64 = 0) throws -> ResultsTable {
        try ResultsTable(path: folder.path("a.db"), columns: columns, keeping: rows)
    }

    private func row(_ id: String, _ integer: Int64 = 1, _ text: String? = nil) -> RowBuffer {
        var row = RowBuffer()
        row.append(id)
        row.append(integer)
        row.append(text)
        return row
    }

    private func ids(_ folder: TemporaryFolder) throws -> [String] {
        try DatabaseQueue(path: folder.path("a.db")).read { db in
            guard try db.tableExists("results") else { return [] }
            return try String.fetchAll(db, sql: "SELECT id FROM results ORDER BY rowid")
        }
    }

    @Test("Other connections see committed rows only")
    func commits() throws {
        let folder = try TemporaryFolder()
        let table = try open(folder)
        #expect(try ids(folder) == [])
        #expect(try table.insert(row("a")))
        #expect(try ids(folder) == [])
        try table.commit()
        #expect(try ids(folder) == ["a"])
        #expect(try table.insert(row("b")))
        #expect(try ids(folder) == ["a"])
        #expect(table.rows == 2)
        try table.close()
        #expect(try ids(folder) == ["a", "b"])
        try table.close()
        let failure = #expect(throws: StorageError.self) { _ = try table.insert(row("c")) }
        #expect(failure?.code == .failed)
    }

    @Test("Uncommitted rows are lost when the table is released")
    func abandoned() throws {
        let folder = try TemporaryFolder()
        do {
            let table = try open(folder)
            #expect(try table.insert(row("a")))
            try table.commit()
            #expect(try table.insert(row("b")))
        }
        #expect(try ids(folder) == ["a"])
        let table = try open(folder, keeping: 1)
        #expect(try !table.insert(row("a")))
        #expect(try table.insert(row("b")))
    }

    @Test("Values of every type are stored unchanged")
    func values() throws {
        let folder = try TemporaryFolder()
        let table = try open(folder)
        #expect(try table.insert(row("", .min, "")))
        #expect(try table.insert(row("\0", .max, "a\0b")))
        var packed = row("x")
        packed.removeAll()
        packed.append(utf8: Array("é".utf8))
        packed.appendNull()
        packed.append(utf8: nil)
        #expect(try table.insert(packed))
        try table.close()
        let rows = try DatabaseQueue(path: folder.path("a.db")).read { db in
            try Row.fetchAll(db, sql: "SELECT CAST(id AS BLOB), \"a \"\"b\"\"\", CAST(c AS BLOB) FROM results")
        }
        #expect(rows.map { $0[0] as Data } == [Data(), Data([0]), Data("é".utf8)])
        #expect(rows.map { $0[1] as Int64? } == [.min, .max, nil])
        #expect(rows.map { $0[2] as Data? } == [Data(), Data("a\0b".utf8), nil])
    }

    @Test("A database with other tables or columns is refused")
    func strangers() throws {
        let folder = try TemporaryFolder()
        let queue = try DatabaseQueue(path: folder.path("a.db"))
        try queue.write { try $0.execute(sql: "CREATE TABLE mine (a)") }
        #expect(#expect(throws: StorageError.self) { _ = try open(folder) }?.code == .changed)
        try queue.write { try $0.execute(sql: "DROP TABLE mine; CREATE TABLE results (id, b)") }
        #expect(#expect(throws: StorageError.self) { _ = try open(folder) }?.code == .changed)
    }
}

@Suite("Fingerprint sets")
struct FingerprintSetTests {
    @Test("A set finds every inserted text, in memory and on disk", arguments: [0, 1_000, 1 << 20])
    func membership(memoryLimit: Int) throws {
        var random = SeededGenerator("identifiers")
        let set = FingerprintSet(memoryLimit: memoryLimit)
        var inserted: Set<[UInt8]> = []
        for text in ["", "\0", "a", "A", "a\0b", "a\0c", "é", "e\u{301}"] {
            #expect(try set.insert(text))
            #expect(try !set.insert(text))
            inserted.insert(Array(text.utf8))
        }
        for _ in 0..<20_000 {
            let text = String(UInt64.random(in: 0..<15_000, using: &random))
            #expect(try set.insert(text) == inserted.insert(Array(text.utf8)).inserted)
        }
    }

    @Test("Two sets are independent")
    func separation() throws {
        let (one, other) = (FingerprintSet(), FingerprintSet(memoryLimit: 0))
        #expect(try one.insert("a"))
        #expect(try other.insert("a"))
    }
}
