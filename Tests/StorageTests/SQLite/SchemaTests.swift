import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Schema of a file")
struct SchemaTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("old.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
        try change(try StoreSamples.tables(of: "0.1.0.sqlite"))
    }

    private func change(_ sql: String) throws { try DatabaseQueue(path: path).write { try $0.execute(sql: sql) } }

    /// Returns what SQLite knows about the tables, columns, references and indexes of a file.
    private func shape(of path: String) throws -> Set<String> {
        let queries = [
            """
            SELECT name, wr, strict, sql LIKE '%AUTOINCREMENT%', sql LIKE '%CHECK (id = 1)%'
            FROM sqlite_master JOIN pragma_table_list USING (name)
            """,
            "SELECT 'column', m.name, c.* FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c",
            """
            SELECT 'reference', m.name, f."table", f."from", f."to", f.on_delete
            FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f
            """,
            """
            SELECT m.name, i.origin, i."unique", i.partial, iif(i.origin = 'c', i.name, ''), x.*
            FROM sqlite_master AS m, pragma_index_list(m.name) AS i, pragma_index_xinfo(i.name) AS x
            """,
            "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
        ]
        return try DatabaseQueue(path: path).read { db in
            Set(
                try queries.flatMap { try Row.fetchAll(db, sql: $0) }.map { row in
                    row.description.split { $0.isWhitespace }.joined(separator: " ").replacing("\\n", with: "")
                })
        }
    }

    @Test("A file of 0.1.0 gets the tables of a new one, and its waiting deliveries can be claimed")
    func release() async throws {
        try change(
            """
            INSERT INTO app VALUES (1, 'com.example.app', 'Production');
            INSERT INTO notification (uuid, version, app, receivedAt, text) VALUES ('1', 2, 1, 1000, 'text');
            INSERT INTO addressee VALUES (1, 'com.example.app', 'raw', 'http://127.0.0.1:9/');
            INSERT INTO delivery (addressee, notification, createdAt, queuedAt, nextAttempt) VALUES (1, 1, 9, 9, 9)
            """)
        let before = try SQLiteStore.inspect(path: path)
        #expect(before.layout == "accountTokens" && !before.isCurrent)
        let store = try SQLiteStore(path: path)
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        let target = ForwardingTargetKey(bundleId: bundleId, form: "raw", url: "http://127.0.0.1:9/")
        #expect(try await store.claim(to: target, by: "a").map(\.uuid) == ["1"])
        await store.close()
        let new = try SQLiteStore(path: folder.path("new.sqlite"))
        await new.close()
        let (expected, found) = (try shape(of: new.path), try shape(of: path))
        #expect(expected.count > 300 && expected.symmetricDifference(found) == [])
        // The sizes differ, because an index was deleted.
        let (one, other) = (try SQLiteStore.inspect(path: path), try SQLiteStore.inspect(path: new.path))
        #expect(one.layout == other.layout && one.isCurrent && other.isCurrent)
        #expect(one.integrity == .intact && other.integrity == .intact)
    }

    @Test("A file from before 0.1.0 is refused and stays unchanged")
    func older() throws {
        try change("DELETE FROM grdb_migrations WHERE identifier = 'leases'")
        let (before, file) = (try shape(of: path), path)
        let error = #expect(throws: StorageError.self) { try SQLiteStore(path: file) }
        #expect(error?.reason == "the store is from before 0.1.0; open it once with version 0.1.0")
        #expect(try shape(of: path) == before)
    }
}
