import Base
import Foundation
import GRDB
import Storage
import Testing
import TestSupport

@Suite("Version 1 notifications of older versions in the file")
struct HintStoreTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    private let scope: AppScope
    private static let day: Int64 = 86_400_000

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        scope = AppScope(bundleId: bundleId, environment: .production)
    }

    private func identifiers(_ texts: String...) throws -> [TransactionIdentifier] {
        try texts.map { try #require(TransactionIdentifier(rawValue: $0)) }
    }

    private func save(_ name: String, at time: Int64) async throws {
        let row = NotificationRow(
            hint: name, type: "CANCEL", naming: try identifiers("1"), receivedAt: Timestamp(milliseconds: time))
        _ = try await store.save(hint: row, about: [], of: scope)
    }

    private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try DatabaseQueue(path: store.path).read(body)
    }

    private func rows(_ columns: String) throws -> [String] {
        try read { db in
            try String.fetchAll(db, sql: "SELECT \(columns) FROM notification ORDER BY id")
        }
    }

    // T29
    @Test("Bodies stored by an older version are reduced to their ids by the next retention run, and erased by them")
    func reduced() async throws {
        try await save("new", at: Self.day)
        let blob = String(repeating: "MIITtgYJKoZIhvcNAQcCoIITpzCC", count: 20_000)
        let bodies = [
            """
            {"notification_type":"CANCEL","password":"***","original_transaction_id":700000000000100,
            "unified_receipt":{"latest_receipt":"\(blob)","latest_receipt_info":[
            {"original_transaction_id":"700000000000100","transaction_id":"700000000000101","app_account_token":"x"}]}}
            """,
            " {\"notification_type\":\"CANCEL\",\"unified_receipt\":{\"latest_receipt\":\"\(blob)\"}}",
            "{\"latest_receipt\":\"\(blob)\", broken",
        ]
        try await DatabaseQueue(path: store.path).write { db in
            for index in 0..<30 {
                try db.execute(
                    sql: """
                        INSERT INTO notification (uuid, version, type, app, receivedAt, originalTransactionId, text)
                        VALUES (?, 1, 'CANCEL', 1, ?, ?, ?)
                        """,
                    arguments: [
                        "old \(index)", Self.day, index == 1 ? "700000000000900" : nil, bodies[min(index, 2)],
                    ])
            }
            try db.execute(
                sql: """
                    INSERT INTO notification (uuid, version, type, app, receivedAt, text)
                    VALUES ('signed', 2, 'DID_RENEW', 1, ?, '{"latest":1}')
                    """, arguments: [Self.day])
        }
        func run(dry: Bool) async throws -> [Erasure.Kind] {
            let now = Timestamp(milliseconds: 2 * Self.day)
            return try await dry
                ? store.expired(Retention(), at: now) : store.expire(Retention(), at: now) { _ in true }
        }
        #expect(try await run(dry: true) == [Erasure.Kind(name: "version1Bodies", count: 30)])
        #expect(try await run(dry: false) == [Erasure.Kind(name: "version1Bodies", count: 30)])
        #expect(try await run(dry: false) == [])
        #expect(
            try rows("text") == ["1", "700000000000100 700000000000101"] + [String](repeating: "", count: 29)
                + ["{\"latest\":1}"])
        let ids = try identifiers("700000000000101", "700000000000900")
        for id in ids {
            let erasure = try await store.erase(ErasureRequest(.transaction(id)), at: Timestamp(milliseconds: 9))
            #expect(erasure.kinds == [Erasure.Kind(name: "notifications", count: 1)])
        }
        await store.close()
        #expect(try !folder.text("bridge.sqlite").contains("latest_receipt"))
        #expect(try !folder.text("bridge.sqlite").contains("MIITtgYJ"))
    }
}
