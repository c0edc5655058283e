import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// A number of the right type that no version writes.
@Suite("Damaged numbers of a store")
struct DamagedNumberTests {
    private static let prefix = "73000000000000"
    private static let numbers = [Int64.max, .min, -1, 1 << 53, 253_402_300_800_000]

    /// A column with numbers. Row ids and digests are only compared.
    private struct Column: Hashable {
        let table, name: String
        let range: ClosedRange<Int64>
    }

    /// The first such column of each table, then the second, and so on.
    private static func columns(of engine: StoreTestEngine) -> [[Column]] {
        let tables = StoreTable.all.map { table in
            table.columns.compactMap { column in
                column.range.map { Column(table: table.name, name: column.name, range: $0) }
            }
        }
        return (0..<(tables.map(\.count).max() ?? 0)).map { index in
            tables.compactMap { $0.indices.contains(index) ? $0[index] : nil }
        }
    }

    private func run(_ store: some Store, _ sql: String, _ values: SQLValue...) async throws {
        try await store.write([SQLStatement(sql, values)])
    }

    /// Damages a column in all rows. Returns a value that it had; `nil` if the table is empty or in another engine, or
    /// if the column cannot have the number.
    private func damage(_ column: Column, _ number: Int64, _ store: some Store) async -> SQLValue? {
        do {
            // Without a row for a table that is empty by now: old responses are deleted, for example.
            let found = try await store.read(
                SQLStatement("SELECT max(\(column.name)) FROM \(column.table) HAVING count(*) > 0")
            ) { (row) throws(StorageError) in SQLValue(try row.number(0)) }
            try await run(store, "UPDATE \(column.table) SET \(column.name) = $1", .integer(number))
            return found.first
        } catch {
            return nil
        }
    }

    /// Restores the value. A row of which there is another one by now is deleted.
    private func heal(_ column: Column, _ value: SQLValue, instead number: Int64, _ store: some Store) async throws {
        do {
            try await run(store, "UPDATE \(column.table) SET \(column.name) = $1", value)
        } catch {
            try await run(store, "DELETE FROM \(column.table) WHERE \(column.name) = $1", .integer(number))
        }
    }

    // T23
    @Test("A number out of the range of its column costs its row", arguments: engines)
    func outOfRange(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let use = try StoreUse(stage.scope, Self.prefix)
        try await use.fill(stage.store)
        var damaged: Set<Column> = []
        for (index, columns) in Self.columns(of: engine).enumerated() {
            let numbers = TestSize.pick(
                debug: [Self.numbers[index % 5], Self.numbers[(index + 1) % 5]], release: Self.numbers)
            for number in numbers {
                try await run(
                    stage.store, "UPDATE delivery SET state = 0, nextAttempt = 0, leasedUntil = $1",
                    engine == .sqlite ? .null : .integer(0))
                var before: [(Column, SQLValue)] = []
                for column in columns {
                    if let value = await damage(column, number, stage.store) { before.append((column, value)) }
                }
                damaged.formUnion(before.map(\.0))
                if let path = (stage.store as? SQLiteStore)?.path {
                    let found = try SQLiteStore.inspect(path: path).damage.map(\.name)
                    let wrong = before.filter { !$0.0.range.contains(number) }.map { "\($0.0.table).\($0.0.name)" }
                    #expect(Set(found).symmetricDifference(wrong).sorted() == [], "\(number)")
                }
                for error in await use.run(stage.store, "") {
                    #expect((error as? StorageError)?.code == .damaged, "\(number) in \(columns.map(\.name)): \(error)")
                }
                for (column, value) in before { try await heal(column, value, instead: number, stage.store) }
            }
        }
        #expect(damaged.count > 50)
        #expect(stage.store.metrics.lastDamage != nil)
    }

    /// Damages of a delivery, of its notification and of its lease. SQLite stores any value in any column.
    private static let deliveries: [(engine: StoreTestEngine, damage: String)] = engines.flatMap { engine in
        let numbers = [
            "delivery SET attempts = 9223372036854775807", "delivery SET bodiesSent = -1",
            "delivery SET queuedAt = 9223372036854775807", "delivery SET leasedUntil = 9223372036854775807",
            "delivery SET nextAttempt = 9223372036854775807", "delivery SET nextAttempt = 253402300800000",
        ]
        let others = [
            "delivery SET attempts = 'x'", "delivery SET bodiesSent = 1.5", "delivery SET queuedAt = x'00'",
            "notification SET uuid = x'00'", "notification SET app = 99", "delivery SET leasedUntil = 'x'",
            "delivery SET leasedUntil = x'00'", "notification SET text = x'00'", "delivery SET leasedUntil = 1.5",
            "delivery SET notification = 99",
        ]
        return (engine == .sqlite ? numbers + others : numbers).map { (engine, $0) }
    }

    @Test(
        "A delivery that cannot be read is abandoned, so that later ones about the same purchase are sent",
        arguments: deliveries)
    func delivery(on engine: StoreTestEngine, damage: String) async throws {
        let stage = try await StoreStage(engine)
        let target = stage.scope.target()
        for uuid in ["a", "b", "c"] {
            let update = NotificationUpdate(status: StatusRow("1", at: 9_000))
            try await stage.receive(NotificationRow(uuid, at: 9_000), update, for: [target])
        }
        let sql = "UPDATE \(damage) WHERE id = (SELECT min(id) FROM delivery)"
        if let path = (stage.store as? SQLiteStore)?.path {
            var lenient = Configuration()
            lenient.foreignKeysEnabled = false
            try await DatabaseQueue(path: path, configuration: lenient).write { try $0.execute(sql: sql) }
        } else {
            try await run(stage.store, sql)
        }
        var sent: [String] = []
        for _ in 0..<4 {
            // As by a server that has just started, and takes over no lease yet.
            let claim = try await stage.store.outbox.claim(
                to: target, for: DeliveryLease(lessee: "1/2/3"), at: .now, takingOverUntil: Timestamp(milliseconds: 0),
                limit: 9)
            for delivery in claim.deliveries {
                try await stage.store.outbox.settle(delivery, .delivered(bodies: 1), at: .now)
                sent.append(delivery.uuid)
            }
        }
        #expect(sent.suffix(2) == ["b", "c"])
        let states = try await stage.store.read(SQLStatement("SELECT state FROM delivery ORDER BY id")) {
            (row) throws(StorageError) in try row.integer(0)
        }
        // One that is due in the far future waits.
        let first: Int64 = sent.count == 3 ? 1 : damage.contains("nextAttempt") ? 0 : 2
        #expect(states == [first, 1, 1])
    }

    @Test("A damaged lease is free", arguments: engines)
    func lease(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        for (column, number) in [("expiresAt", Int64.max), ("expiresAt", 253_402_300_000_000), ("term", .max)] {
            _ = try await stage.store.leases.claim(.archive, for: "\(column) \(number)", lasting: .seconds(60))
            try await run(stage.store, "UPDATE lease SET \(column) = $1", .integer(number))
            if column == "term" { try await run(stage.store, "UPDATE lease SET expiresAt = 0") }
            let lease = try await stage.store.leases.claim(.archive, for: "other", lasting: .seconds(60))
            #expect(lease.map { $0.term > 0 && $0.term < 9 } == true, "\(column) = \(number)")
            try await stage.store.leases.release(try #require(lease))
        }
    }
}
