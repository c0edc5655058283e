import ReceiptBridgeBase
import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("SQLite destinations")
struct TableSinkTests {
    private func open(_ folder: TemporaryFolder, keeping rows: Int64 = 0) throws -> any ResultSink {
        try ResultWriters.open(folder.path("a.db"), withAPI: true, at: SinkPosition(rows: rows, bytes: 0))
    }

    private func row(_ id: String, _ integer: Int64? = 1, _ text: String? = nil) -> ResultRow {
        var row = ResultRow(id: id, outcome: .migrated, kind: "appReceipt", verified: true)
        (row.digest, row.api) = (text, APIColumns(appAppleId: integer))
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
        var table = try open(folder)
        #expect(try ids(folder) == [])
        #expect(try table.write(row("a")) == .written)
        #expect(try ids(folder) == [])
        #expect(try table.checkpoint().rows == 1)
        #expect(try ids(folder) == ["a"])
        #expect(try table.write(row("b")) == .written)
        #expect(try ids(folder) == ["a"])
        try table.close()
        #expect(try ids(folder) == ["a", "b"])
        try table.close()
        let failure = #expect(throws: SinkError.self) { _ = try table.write(row("c")) }
        #expect(failure?.code == .failed)
    }

    @Test("Values of every type are stored unchanged")
    func values() throws {
        let folder = try TemporaryFolder()
        var table = try open(folder)
        #expect(try table.write(row("", .min, "")) == .written)
        #expect(try table.write(row("\0", .max, "a\0b")) == .written)
        #expect(try table.write(row("é", nil, nil)) == .written)
        try table.close()
        let rows = try DatabaseQueue(path: folder.path("a.db")).read { db in
            try Row.fetchAll(db, sql: "SELECT CAST(id AS BLOB), appAppleId, CAST(digest AS BLOB) FROM results")
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
        #expect(#expect(throws: SinkError.self) { _ = try open(folder) }?.code == .changed)
        try queue.write { try $0.execute(sql: "DROP TABLE mine; CREATE TABLE results (id, b)") }
        #expect(#expect(throws: SinkError.self) { _ = try open(folder) }?.code == .changed)
    }
}
