import Foundation
import GRDB
import Ledger
import TestSupport
import Testing

@Suite("The store of the proxy")
struct BridgeStoreTests {
    @Test("A new store is its owner's alone, and opens again")
    func permissions() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        for _ in 0..<2 {
            let store = try BridgeStore(path: path)
            await store.close()
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("A file that is no database, and one of a newer version, are refused and left as they are")
    func foreignFiles() throws {
        let folder = try TemporaryFolder()
        let text = folder.path("text.sqlite")
        try Data("this is a diary, not a database, and long enough to look like one".utf8).write(
            to: URL(filePath: text))
        let refused = #expect(throws: LedgerError.self) { try BridgeStore(path: text) }
        #expect(refused?.code == .notADatabase)
        let newer = folder.path("newer.sqlite")
        _ = try BridgeStore(path: newer)
        try DatabaseQueue(path: newer).write { db in
            try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('of a later version')")
        }
        #expect(throws: LedgerError.self) { try BridgeStore(path: newer) }
    }

    @Test("A folder that is not there is told as such")
    func noFolder() {
        let error = #expect(throws: LedgerError.self) { try BridgeStore(path: "/nonexistent/bridge.sqlite") }
        #expect(error?.code == .notPermitted)
    }
}
