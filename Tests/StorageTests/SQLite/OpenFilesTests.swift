import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// T24: the file, its log and the index of the log while a store is open.
@Suite("Files of an open store")
struct OpenFilesTests {
    private let folder: TemporaryFolder
    private let path: String
    private let scope: AppScope

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("bridge.sqlite")
        scope = try AppScope.of()
    }

    private func save(_ index: Int, in store: SQLiteStore) async throws {
        let row = NotificationRow("\(index)", at: 1, text: String(repeating: "text ", count: 1_000))
        _ = try await store.save(row, NotificationUpdate(), of: scope)
    }

    /// Another connection, as of another program.
    private func elsewhere(_ sql: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.inDatabase { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// What another program does to the files, and how many of 20 notifications are in the store after a restart.
    struct Act: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kept: Int
        let perform: @Sendable (_ path: String) throws -> Void

        init(_ name: String, kept: Int = 20, _ perform: @escaping @Sendable (_ path: String) throws -> Void) {
            (testDescription, self.kept, self.perform) = (name, kept, perform)
        }
    }

    private static let acts = [
        Act("the log is removed") { unlink($0 + "-wal") },
        Act("the index is removed") { unlink($0 + "-shm") },
        Act("both are removed") { ["-wal", "-shm"].forEach { [path = $0] in unlink(path + $0) } },
        Act("the log is removed, and a program begins another") { path in
            unlink(path + "-wal")
            try Data().write(to: URL(filePath: path + "-wal"))
        },
        Act("the log is replaced by a copy", kept: 20) { path in
            let bytes = try Data(contentsOf: URL(filePath: path + "-wal"))
            unlink(path + "-wal")
            try bytes.write(to: URL(filePath: path + "-wal"))
        },
        // What only the log had is lost.
        Act("the log is truncated", kept: 0) { truncate($0 + "-wal", 0) },
        Act("the log is cut", kept: 19) { truncate($0 + "-wal", off_t(StoreFiles.size(of: $0 + "-wal") - 4_120)) },
        Act("the log is truncated, and something is written behind its end", kept: 0) { path in
            let size = off_t(StoreFiles.size(of: path + "-wal"))
            truncate(path + "-wal", 0)
            truncate(path + "-wal", size + 4_120)
        },
        Act("the file is truncated") { truncate($0, 0) },
    ]

    @Test("After a file was removed, replaced or truncated nothing more is acknowledged", arguments: acts)
    func lost(act: Act) async throws {
        let store = try SQLiteStore(path: path)
        for index in 0..<20 { try await save(index, in: store) }
        try act.perform(path)
        for index in 20..<23 {
            let error = await #expect(throws: StorageError.self) { try await save(index, in: store) }
            #expect(error?.code == (index == 20 ? .changed : .notOpen))
        }
        #expect(store.isLost)
        await store.close()
        let next = try SQLiteStore(path: path)
        #expect(try await next.notificationCount() == act.kept)
    }

    @Test("A log with a hole is never copied into the database, not even when the store is closed")
    func closed() async throws {
        let store = try SQLiteStore(path: path)
        for index in 0..<10 { try await save(index, in: store) }
        try elsewhere("PRAGMA wal_checkpoint(FULL)")
        for index in 10..<20 { try await save(index, in: store) }
        let size = off_t(StoreFiles.size(of: path + "-wal"))
        truncate(path + "-wal", 0)
        truncate(path + "-wal", size)
        #expect(await store.close()?.code == .changed)
        let next = try SQLiteStore(path: path)
        #expect(try await next.notificationCount() == 10)
    }

    @Test("What SQLite and other programs rightly do with the files ends no store")
    func kept() async throws {
        let store = try SQLiteStore(path: path, lockTimeout: 0.1)
        let acts = [
            "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(FULL)", "PRAGMA wal_checkpoint(RESTART)",
            "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_size_limit = 0; PRAGMA wal_checkpoint(RESTART)",
            "DELETE FROM notification WHERE id > 20; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM",
            "CREATE TABLE other (value BLOB); INSERT INTO other VALUES (zeroblob(1000000))", "DROP TABLE other",
        ]
        for (index, act) in acts.enumerated() {
            for number in 0..<10 { try await save(index * 20 + number, in: store) }
            try elsewhere(act)
            for number in 10..<20 { try await save(index * 20 + number, in: store) }
            try await store.compact()
        }
        #expect(!store.isLost)
        #expect(await store.close() == nil)
    }
}
