import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Store")
struct StoreTests {
    @Test("A file that is not a database and a store of a newer version are refused and stay unchanged")
    func foreignFiles() throws {
        let folder = try TemporaryFolder()
        let text = folder.path("text.sqlite")
        try Data("this is a diary, not a database, and long enough to look like one".utf8).write(
            to: URL(filePath: text))
        let refused = #expect(throws: StorageError.self) { try SQLiteStore(path: text) }
        #expect(refused?.code == .notADatabase)
        let newer = folder.path("newer.sqlite")
        _ = try SQLiteStore(path: newer)
        try DatabaseQueue(path: newer).write { db in
            try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('of a later version')")
        }
        #expect(throws: StorageError.self) { try SQLiteStore(path: newer) }
    }

    @Test("An inspection detects pages of random bytes, and stops at its time limit")
    func integrity() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        let scope = try AppScope.of()
        let store = try SQLiteStore(path: path)
        for batch in 0..<20 {
            let rows = (0..<500).map {
                RevocationRow("\(batch * 500 + $0 + 1)")
            }
            try await store.save(revoked: rows, valid: [], askedAt: .now, of: scope)
        }
        try await store.compact()
        await store.close()
        #expect(try SQLiteStore.inspect(path: path).integrity == .intact)
        #expect(try SQLiteStore.inspect(path: path, limit: .zero).integrity == .unfinished)
        // The first quarter contains the schema, which is read earlier, so the last quarter is damaged.
        var bytes = try folder.read("bridge.sqlite")
        var generator = SeededGenerator("pages of random bytes")
        for index in bytes.indices.suffix(bytes.count / 4) { bytes[index] = .random(in: 0...255, using: &generator) }
        try folder.write("bridge.sqlite", bytes)
        let damaged = try SQLiteStore.inspect(path: path).integrity
        guard case .damaged = damaged else {
            Issue.record("\(damaged)")
            return
        }
    }

    @Test("A store is failing until an operation of the same kind succeeds, and a canceled read is not a failure")
    func failing() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        let store = try SQLiteStore(path: path, maximumPages: 200)
        let scope = try AppScope.of()
        func saveRevocations(_ ids: Range<Int>) async throws {
            let rows = ids.map {
                RevocationRow("\($0)")
            }
            try await store.save(revoked: rows, valid: [], askedAt: .now, of: scope)
        }
        let error = await #expect(throws: StorageError.self) { try await saveRevocations(1..<20_000) }
        #expect(error?.code == .full && store.metrics.isFailing, "\(String(describing: error))")
        try await saveRevocations(1..<2)
        #expect(!store.metrics.isFailing)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await store.lastErasure()
        }
        _ = await cancelled.result
        #expect(!store.metrics.isFailing)
    }

    @Test("A store whose file was removed or replaced refuses all reads and writes until a restart")
    func takenAway() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        func refund(_ id: String) -> RevocationRow {
            RevocationRow(id)
        }
        let scope = try AppScope.of()
        let changes = Mutex<[String]>([])
        let store = SQLiteStore(opening: path, pauses: [.milliseconds(20)]) { error in
            changes.withLock { $0.append(error?.code.rawValue ?? "open") }
        }
        try await store.save(revoked: [refund("1")], valid: [], askedAt: .now, of: scope)
        let other = folder.path("other.sqlite")
        let copy = try SQLiteStore(path: other)
        try await copy.save(revoked: [refund("2")], valid: [], askedAt: .now, of: scope)
        // Everything in a single file.
        try await copy.compact()
        await copy.close()
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: other, toPath: path)
        let error = await #expect(throws: StorageError.self) {
            try await store.save(revoked: [refund("3")], valid: [], askedAt: .now, of: scope)
        }
        #expect(error?.code == .changed && !store.isOpen)
        await #expect(throws: StorageError.self) { try await store.revoked(in: scope) }
        #expect(changes.withLock { $0 } == ["changed"])
        await store.close()
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let found = try await SQLiteStore(path: path).revoked(in: scope)
        #expect(found.map(\.transactionId) == ["2"], "\(found)")
    }

    @Test("A damaged revocation is left out, and those after it are read")
    func damagedRevocation() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        let store = try SQLiteStore(path: path)
        let scope = try AppScope.of()
        let rows = ["1", "2", "3"].map {
            RevocationRow($0, at: 5)
        }
        try await store.save(revoked: rows, valid: [], askedAt: .now, of: scope)
        await store.close()
        try await DatabaseQueue(path: path).write {
            try $0.execute(sql: "UPDATE revocation SET date = 'x' WHERE transactionId = '2'")
        }
        let damaged = try SQLiteStore(path: path)
        var pages: [[String]] = []
        var position: RevokedPurchases.Position? = .start
        while let start = position {
            let page = try await damaged.revokedPurchases(after: start, limit: 2)
            pages.append(page.rows.map(\.row.transactionId))
            position = page.next
        }
        #expect(pages == [["1"], ["3"], []])
    }

    @Test("A closed store refuses reads and writes as one that is not open yet")
    func closed() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        try await store.markUnknown(1)
        await store.close()
        let read = await #expect(throws: StorageError.self) { try await store.lastErasure() }
        let write = await #expect(throws: StorageError.self) { try await store.markUnknown(1) }
        #expect(read?.code == .notOpen && write?.code == .notOpen)
    }

    @Test("A missing directory is reported as `notPermitted`")
    func noFolder() {
        let error = #expect(throws: StorageError.self) { try SQLiteStore(path: "/nonexistent/bridge.sqlite") }
        #expect(error?.code == .notPermitted)
    }
}
