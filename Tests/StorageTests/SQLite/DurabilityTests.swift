import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Durability of the store")
struct DurabilityTests {
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

    /// Returns the number of notifications in a copy of the database file, without `-wal` and `-shm`.
    private func countInCopy() throws -> Int? {
        let copy = folder.path("copy-\(UUID().uuidString).sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        return try DatabaseQueue(path: copy).read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM notification")
        }
    }

    // T24
    @Test("Commits wait for the disk on the writing connection, when the store is created and when it is opened again")
    func synchronous() async throws {
        for _ in 0..<2 {
            let store = try SQLiteStore(path: path)
            #expect(try await store.synchronousLevel() == 2)
            await store.close()
        }
        let late = SQLiteStore(opening: path) { _ in }
        #expect(try await late.synchronousLevel() == 2)
        await late.close()
    }

    // T24
    @Test("A closed store is a single file: a copy of it has every row")
    func oneFile() async throws {
        let store = try SQLiteStore(path: path)
        for index in 0..<50 { try await save(index, in: store) }
        // Opens a reader.
        #expect(try await store.notificationCount() == 50)
        #expect(await store.close() == nil)
        #expect(try countInCopy() == 50)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
    }

    @Test("Closing a store that another process reads reports that the log stays, and loses no rows")
    func readElsewhere() async throws {
        let store = try SQLiteStore(path: path, lockTimeout: 0.1)
        try await save(0, in: store)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: path, configuration: configuration)
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM notification") == 1)
        }
        try await save(1, in: store)
        let failure = await store.close()
        #expect(failure?.code == .locked)
        try reader.inDatabase { db in
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM notification") == 1)
            try db.execute(sql: "COMMIT")
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM notification") == 2)
        }
        // The next process that closes the store checkpoints the log.
        try reader.close()
        #expect(try countInCopy() == 2)
    }

    @Test("Closing a store whose file was replaced does not change the new file")
    func replaced() async throws {
        let store = try SQLiteStore(path: path)
        try await save(0, in: store)
        try FileManager.default.removeItem(atPath: path)
        try Data("another file".utf8).write(to: URL(filePath: path))
        #expect(await store.close()?.code == .changed)
        #expect(try folder.text("bridge.sqlite") == "another file")
    }

    @Test("Opening a store that other users can read restricts all its files to the owner")
    func permissions() async throws {
        let first = try SQLiteStore(path: path)
        let names = ["bridge.sqlite", "bridge.sqlite-wal", "bridge.sqlite-shm"]
        for name in names {
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.path(name))
        }
        #expect(StoreFiles.exposed(of: path).map(\.path) == names.map(folder.path))
        #expect(StoreFiles.exposed(of: path).map(\.exposure) == [.everybody, .everybody, .everybody])
        let second = try SQLiteStore(path: path)
        #expect(try names.map(folder.permissions) == [0o600, 0o600, 0o600])
        #expect(StoreFiles.exposed(of: path).isEmpty)
        await second.close()
        await first.close()
    }

    @Test("A store behind a symbolic link to a missing file is private, too")
    func link() async throws {
        let link = folder.path("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let store = try SQLiteStore(path: link)
        try await save(0, in: store)
        #expect(try folder.permissions("bridge.sqlite") == 0o600 && StoreFiles.exposed(of: link).isEmpty)
        #expect(StoreFiles.size(of: link) >= 4_096)
    }
}
