import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// SQLite stores any value in any column. So each value of a damaged file may have another type, or be missing.
@Suite("Damaged values of a store")
struct DamagedStoreTests {
    private static let prefix = "73000000000000"
    private let folder: TemporaryFolder
    private let scope: AppScope
    /// A store with rows in every table.
    private let intact: String

    init() async throws {
        folder = try TemporaryFolder()
        intact = folder.path("intact.sqlite")
        scope = try AppScope.of()
        let store = try SQLiteStore(path: intact)
        try await StoreUse(scope, Self.prefix).fill(store)
        #expect(await store.close() == nil)
    }

    /// One value of a column, as a literal of SQL.
    private struct Damage: Sendable {
        let column: String
        let table: String
        let literal: String
        /// The declared type of the column.
        var type = ""
        /// Whether SQLite stores the value with another type than the declared one. It converts a number in a TEXT
        /// column.
        var isOfOtherType: Bool {
            switch literal {
            case "'canary'": type != "TEXT"
            case "x'00FF'": type != "BLOB"
            case "1.5": type != "TEXT"
            default: false
            }
        }
        var name: String { "\(table).\(column)" }
    }

    /// Every column of every table, with a value of every type; in debug every second one, with one other type.
    private func all() throws -> [Damage] {
        try DatabaseQueue(path: intact).read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT columns.name, sqlite_master.name, columns.type FROM sqlite_master
                    JOIN pragma_table_info(sqlite_master.name) AS columns
                    WHERE sqlite_master.type = 'table' AND sqlite_master.name NOT LIKE 'sqlite_%'
                    """
            ).enumerated().filter { TestSize.pick(debug: $0.offset % 2 == 0, release: true) }.flatMap { _, row in
                let other = row[2] == "TEXT" ? "x'00FF'" : "'canary'"
                return TestSize.pick(debug: [other], release: ["NULL", "'canary'", "x'00FF'", "x''", "1.5"])
                    .map { Damage(column: row[0], table: row[1], literal: $0, type: row[2]) }
            }
        }
    }

    /// Copies the store and damages the copy. Returns its path; `nil` if the column cannot hold the value, or not in a
    /// table with a row.
    private func damaged(_ damage: Damage, _ name: String) throws -> String? {
        let path = folder.path(name)
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: intact, toPath: path)
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        return try DatabaseQueue(path: path, configuration: configuration).writeWithoutTransaction { db in
            let before = db.totalChangesCount
            try? db.execute(
                sql: """
                    PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;
                    UPDATE OR IGNORE \(damage.table) SET \(damage.column) = \(damage.literal)
                    """)
            return db.totalChangesCount > before ? path : nil
        }
    }

    // T23
    @Test("A value of another type costs its row: whatever it is in, the store answers or says what is damaged")
    func everyColumn() async throws {
        let cases = try all()
        let tested = try await withThrowingTaskGroup(of: Int.self) { group in
            let width = 4
            for first in 0..<width {
                group.addTask {
                    var damaged = 0
                    for index in stride(from: first, to: cases.count, by: width) {
                        damaged += try await test(cases[index], "\(first).sqlite")
                    }
                    return damaged
                }
            }
            return try await group.reduce(0, +)
        }
        // The others are row ids, which hold only integers.
        #expect(tested > TestSize.pick(debug: 60, release: 500))
    }

    /// Damages one column. Returns 0 if it cannot hold the value.
    private func test(_ damage: Damage, _ file: String) async throws -> Int {
        guard let path = try damaged(damage, file) else { return 0 }
        var errors: [any Error] = []
        do {
            // What differs from the type of the column is found by name.
            let columns = try SQLiteStore.inspect(path: path).damage.map(\.name)
            #expect(!damage.isOfOtherType || columns.contains(damage.name), "\(damage.name) = \(damage.literal)")
            let store = try SQLiteStore(path: path, lockTimeout: 0.1)
            let use = try StoreUse(scope, Self.prefix)
            errors = await use.run(store, damage.table) + use.expire(store)
            await store.close()
        } catch {
            #expect(damage.table == "grdb_migrations", "\(damage.name): \(error)")
        }
        for error in errors {
            let failure = try #require(error as? StorageError, "\(damage.name): \(error)")
            #expect(failure.code == .damaged, "\(damage.name): \(failure)")
            #expect(!failure.reason.contains("canary") && !failure.reason.contains(Self.prefix), "\(failure)")
        }
        return 1
    }

    @Test("A damaged row is left out and counted, and pages are filled up with the rows after it")
    func leftOut() async throws {
        let damage = Damage(column: "receivedAt", table: "notification", literal: "'canary'")
        let path = try #require(try damaged(damage, "a.sqlite"))
        try await DatabaseQueue(path: path).write { db in
            try db.execute(sql: "UPDATE notification SET receivedAt = 2000 WHERE uuid = 'request'")
        }
        let store = try SQLiteStore(path: path)
        #expect(store.metrics.lastDamage == nil)
        let page = try await store.notifications(matching: NotificationFilter(), after: 0, limit: 1)
        #expect(page.map(\.uuid) == ["request"])
        #expect(store.metrics.lastDamage?.reason == "a value of notification.receivedAt is damaged")
        #expect(!store.metrics.isFailing)
        try await DatabaseQueue(path: path).write { db in
            try db.execute(sql: "UPDATE notification SET signedDate = 1000000000000000.5")
        }
        #expect(try await #require(store.newestSignedDate()) <= Timestamp(milliseconds: 9_000))
    }

    @Test("A lookup writes again what is damaged of a customer, so that nothing of it stays old")
    func healed() async throws {
        let (original, now) = ("\(Self.prefix)1", Timestamp(milliseconds: 9_000))
        let row = CustomerRow(
            ["1", "2", "3"].map {
                CustomerDataFixture.transaction("\(Self.prefix)\($0)", original, at: 9_000)
            }, at: now.milliseconds, statuses: [StatusRow(original, 2, group: "g", at: now.milliseconds)],
            renewals: [RenewalRow(original, at: now.milliseconds, CustomerDataFixture.jws("{}"))])
        let keys = CustomerIdentifiers([original])
        let columns = [
            "transactionRecord": ["customer", "signedDate", "text", "appTransactionId"],
            "customer": ["askedAt", "needsLookupSince", "revision", "eventKey"],
            "subscription": ["status", "statusClock", "renewal", "renewalClock"],
        ]
        for (table, column) in columns.flatMap({ table, columns in columns.map { (table, $0) } }) {
            for literal in ["x'00FF'", "'canary'"] {
                let damage = Damage(column: column, table: table, literal: literal)
                let store = try SQLiteStore(path: try #require(try damaged(damage, "a.sqlite")))
                try await store.customers.save(row, of: scope)
                let found = try await store.customer(of: keys, in: scope)
                #expect(
                    found?.transactions.count == 3 && found?.askedAt == now && found?.needsLookup == false, "\(damage)")
                #expect(found?.subscriptions.map(\.status) == [2], "\(damage)")
                #expect(found?.subscriptions.first?.renewal == CustomerDataFixture.jws("{}"), "\(damage)")
                await store.close()
                #expect(try SQLiteStore.inspect(path: store.path).damage.isEmpty, "\(damage)")
            }
        }
    }

    @Test("A notification replaces only what it contains, although the clock of something else is damaged")
    func kept() async throws {
        let (original, later) = ("\(Self.prefix)1", Timestamp(milliseconds: 9_500))
        let status = StatusRow(original, 2, group: "g", at: later.milliseconds)
        let renewal = RenewalRow(original, at: later.milliseconds, CustomerDataFixture.jws("{}"))
        let updates = [
            ("renewalClock", "renewal", NotificationUpdate(status: status)),
            ("statusClock", "status", NotificationUpdate(renewal: renewal)),
        ]
        for (clock, member, update) in updates {
            for literal in ["x'00FF'", "'canary'"] {
                let damage = Damage(column: clock, table: "subscription", literal: literal)
                let path = try #require(try damaged(damage, "a.sqlite"))
                func stored() throws -> DatabaseValue? {
                    try DatabaseQueue(path: path).read { db in
                        try DatabaseValue.fetchOne(
                            db, sql: "SELECT \(member) FROM subscription WHERE originalTransactionId = ?",
                            arguments: [original])
                    }
                }
                let before = try stored()
                let store = try SQLiteStore(path: path)
                let notification = NotificationRow("later", at: later.milliseconds, text: CustomerDataFixture.jws("{}"))
                _ = try await store.notifications.save(notification, update, of: scope)
                await store.close()
                #expect(try before?.isNull == false && stored() == before, "\(damage)")
            }
        }
    }

    // T23
    @Test("Reading page by page ends, although keys come again or a change has no effect")
    func endless() async throws {
        let now = Timestamp(milliseconds: 1 << 40)
        let reads: [(String, @Sendable (SQLiteStore) async throws -> Void)] = [
            ("events", { _ = try await $0.events(after: 0, upTo: .max, limit: 99) }),
            ("notification", { _ = try await $0.notifications(matching: NotificationFilter(), after: 0, limit: 9) }),
            ("delivery", { _ = try await $0.deliveries(in: nil, after: 0, limit: 9) }),
            ("transactionRecord", { _ = try await $0.refundTargets(after: 0) }),
            ("transactionRecord", { _ = try await $0.expire(Retention(), at: now) { _ in true } }),
        ]
        for (table, read) in reads {
            let path = folder.path("reversed.sqlite")
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: intact, toPath: path)
            let root = try await DatabaseQueue(path: path).read { db in
                try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
            }
            try DatabaseDamage.reverseRows(root: try #require(root), in: path)
            let store = try SQLiteStore(path: path)
            let error = await #expect(throws: StorageError.self, "\(table)") { try await read(store) }
            #expect(error?.code == .damaged || error?.code == .notADatabase, "\(table)")
            let transfer = try #require(StoreTable.copied.first { $0.name == table })
            await #expect(throws: StorageError.self, "\(table)") {
                _ = try await store.rows(transfer.content, after: nil, limit: 99, decodesJWS: false)
            }
            await store.close()
        }
        let store = try SQLiteStore(path: intact)
        try await DatabaseQueue(path: intact).write { db in
            try db.execute(
                sql: """
                    INSERT INTO lastGood (question, app, keptAt, size, originals, digest, status, body)
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                    SELECT CAST(i AS BLOB), app, keptAt, size, originals, digest, status, body FROM n JOIN lastGood LIMIT 500;
                    CREATE TRIGGER stuck BEFORE DELETE ON lastGood BEGIN SELECT RAISE(IGNORE); END
                    """)
        }
        #expect(try await !store.deleteArchivedResponses(before: now, downTo: 0))
    }
}
