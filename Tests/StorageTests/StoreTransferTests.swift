import ReceiptBridgeAdministration
import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Copying and comparing stores")
struct StoreTransferTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func sqlite(_ name: String, allowsUnfinishedCopy: Bool = false) throws -> SQLiteStore {
        try SQLiteStore(path: folder.path(name), allowsUnfinishedCopy: allowsUnfinishedCopy)
    }

    /// A store with rows in every table and a value in every column.
    private func filled(_ name: String, rows: Int64 = 7) async throws -> SQLiteStore {
        let store = try sqlite(name)
        _ = try await store.beginCopy(from: "fixture")
        for table in StoreTable.copied {
            let rows = (1...rows).map { number in
                let values = table.copiedColumns.map { Self.value(of: $0, in: table, row: number) }
                let key = table.key.map { name in
                    zip(table.copiedColumns, values).first { $0.0.name == name }?.1 ?? .null
                }
                return TransferRow(key + values, of: table.copy)
            }
            try await store.insert(rows, into: table)
        }
        try await store.finishCopy()
        return store
    }

    /// Columns that are null in the last row.
    private static let optional: Set<String> = [
        "notification.type", "notification.signedDate", "notification.originalTransactionId", "customer.revision",
        "transactionRecord.customer", "transactionRecord.appTransactionId", "subscription.renewal",
        "subscription.status", "revocation.reason", "delivery.lastFailure", "lastGood.latestReceipt",
    ]

    private static func value(of column: StoreTable.Column, in table: StoreTable, row: Int64) -> SQLValue {
        if row == 7, optional.contains("\(table.name).\(column.name)") { return .null }
        if table.name == "signedHeader", column.name == "text" { return .bytes(header(row)) }
        if column.name == table.number || column.name == "id" || column.reference != nil { return .integer(row) }
        switch column.type {
        case .integer: return .integer(row * 1_000_000_007)
        case .boolean: return .boolean(row % 2 == 1)
        case .text: return .text("\(column.name) ä \(row)")
        case .bytes: return .bytes([UInt8(row), 0, 255])
        case .jws:
            guard row % 2 == 1, let parts = JWSParts(jws(row)) else { return .jws(.raw("raw \(row)")) }
            return .jws(.packed(PackedJWS(parts, header: UInt16(row))))
        }
    }

    /// The header of the JWS of a row, in base64url.
    private static func header(_ row: Int64) -> [UInt8] { Array("eyJhbGciOiJFUzI1NiJ9\(row)".utf8) }

    private static func jws(_ row: Int64) -> String {
        let parts = [Array("{\"n\":\(row)}".utf8), [UInt8](repeating: 7, count: 64)].map { bytes in
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        return ([String(decoding: header(row), as: UTF8.self)] + parts).joined(separator: ".")
    }

    /// All columns of all rows.
    private func contents(of store: any StoreTransfer) async throws -> [String: [TransferRow]] {
        var contents: [String: [TransferRow]] = [:]
        for table in StoreTable.copied {
            contents[table.name] = try await store.rows(table.copy, after: nil, limit: 1_000, decodesJWS: false)
        }
        return contents
    }

    @Test("All values survive a copy from SQLite to SQLite, which can be stopped after every transaction")
    func resumedCopy() async throws {
        let source = try await filled("source.sqlite")
        var runs = 0
        while true {
            let destination = try sqlite("destination.sqlite", allowsUnfinishedCopy: true)
            let copy = StoreCopy(from: source, named: "source", to: destination, batch: 2)
            let transactions = Counter(runs % 3 + 1)
            let isComplete = try await copy.run { _ in transactions.decrement() }
            await destination.close()
            runs += 1
            if isComplete { break }
            let refusal = #expect(throws: StorageError.self) { try sqlite("destination.sqlite") }
            #expect(refusal?.code == .changed)
            try #require(runs < 200)
        }
        #expect(runs > 20)
        let copy = try sqlite("destination.sqlite")
        #expect(try await contents(of: copy) == contents(of: source))
        #expect(try await StoreDigest.all(of: copy) == StoreDigest.all(of: source))
        await source.close()
    }

    @Test("A copy of a source that a command changes meanwhile is refused, and no server opens it")
    func changedSource() async throws {
        let source = try await filled("source.sqlite")
        let destination = try sqlite("destination.sqlite", allowsUnfinishedCopy: true)
        let path = folder.path("source.sqlite")
        let error = await #expect(throws: StorageError.self) {
            try await StoreCopy(from: source, named: "source", to: destination, batch: 2).run { progress in
                // The notifications have been copied.
                guard progress.title == "customers" else { return true }
                let writer = try? DatabaseQueue(path: path)
                try? writer?.write { try $0.execute(sql: "UPDATE notification SET version = 2 WHERE id = 1") }
                return writer != nil
            }
        }
        #expect(error?.code == .changed && error?.reason.hasPrefix("its notifications changed while") == true)
        await destination.close()
        await source.close()
        #expect(throws: StorageError.self) { try sqlite("destination.sqlite") }
    }

    @Test(
        "All values survive SQLite to PostgreSQL to SQLite",
        .enabled(if: TestSchema.database != nil, "needs PostgreSQL: make test-postgresql"))
    func acrossEngines() async throws {
        let source = try await filled("source.sqlite")
        let schema = try await TestSchema()
        let database = try await PostgreSQLStore(schema.configuration, place: schema.name)
        let stopped = try await StoreCopy(from: source, named: "a", to: database, batch: 2).run { _ in false }
        #expect(!stopped)
        let refusal = await #expect(throws: StorageError.self) {
            try await PostgreSQLStore(schema.configuration, place: "copied")
        }
        #expect(
            refusal?.description
                == "changed: copied: the store holds an unfinished copy; run the same store copy command again to finish it"
        )
        let progress = Counter(Int.max)
        #expect(
            try await StoreCopy(from: source, named: "a", to: database, batch: 2).run { state in
                state.copied <= state.rows && progress.decrement()
            })
        let back = try sqlite("back.sqlite")
        #expect(try await StoreCopy(from: database, named: "b", to: back).run { _ in true })
        #expect(try await contents(of: back) == contents(of: source))
        let digests = try await StoreDigest.all(of: source)
        #expect(try await StoreDigest.all(of: database) == digests)
        #expect(digests.allSatisfy { $0.rows == 7 })
        // The database continues the numbers of the rows.
        let scope = try AppScope.of("com.example.new", .sandbox)
        try await database.revocations.save(revoked: [RevocationRow("1")], valid: [], askedAt: .now, of: scope)
        #expect(try await database.count(of: StoreTable.copied[0]) == 8)
        await database.close()
        await back.close()
        await source.close()
    }

    @Test("A store with other data, or with a begun copy of another store, is refused; one with the same is complete")
    func refused() async throws {
        let source = try await filled("source.sqlite")
        let other = try await filled("other.sqlite", rows: 6)
        let refusal = await #expect(throws: StorageError.self) {
            try await StoreCopy(from: source, named: "a", to: other).run { _ in true }
        }
        #expect(refusal?.reason == "the store is not empty: it has other apps")
        let same = try await filled("same.sqlite")
        #expect(try await StoreCopy(from: source, named: "a", to: same).run { _ in false })
        let begun = try sqlite("begun.sqlite")
        _ = try await StoreCopy(from: source, named: "a", to: begun, batch: 2).run { _ in false }
        let error = await #expect(throws: StorageError.self) {
            try await StoreCopy(from: source, named: "b", to: begun).run { _ in true }
        }
        #expect(error?.reason == "the store holds an unfinished copy of another store")
    }

    @Test("The digest does not depend on row ids, and shows a changed, a missing and a doubled row")
    func digests() async throws {
        let store = try await filled("a.sqlite")
        let fewer = try await filled("b.sqlite", rows: 6)
        let (left, right) = (try await StoreDigest.all(of: store), try await StoreDigest.all(of: fewer))
        for (left, right) in zip(left, right) {
            #expect(left != right, "\(left.title)")
            #expect(left.text.count == 64)
        }
        await fewer.close()
    }
}

/// Counts down to the transaction after which a copy is stopped.
private final class Counter: Sendable {
    private let rest: Mutex<Int>

    init(_ count: Int) { rest = Mutex(count) }

    /// Returns whether the copy continues.
    func decrement() -> Bool {
        rest.withLock { rest in
            rest -= 1
            return rest > 0
        }
    }
}
