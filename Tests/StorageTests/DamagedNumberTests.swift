import ReceiptBridgeBase
import Foundation
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
        await stage.store.close()
    }

    @Test("A damaged delivery does not hold up later ones of its purchase", arguments: engines)
    func head(on engine: StoreTestEngine) async throws {
        for (column, number) in [
            ("attempts", Int64.max), ("bodiesSent", -1), ("queuedAt", .max), ("leasedUntil", .max),
            ("nextAttempt", .max), ("nextAttempt", 253_402_300_800_000),
        ] {
            let stage = try await StoreStage(engine)
            let target = stage.scope.target()
            for index in 0..<3 {
                let row = NotificationRow("\(index)", at: Int64(index), text: "text \(index)")
                let status = StatusRow("1", at: Int64(index))
                try await stage.receive(row, NotificationUpdate(status: status), for: [target])
            }
            try await run(
                stage.store, "UPDATE delivery SET \(column) = $1 WHERE id = (SELECT min(id) FROM delivery)",
                .integer(number))
            var sent: [String] = []
            for _ in 0..<4 {
                for delivery in try await stage.store.outbox.claim(to: target, by: "1/2/3") {
                    try await stage.store.outbox.settle(delivery, .delivered(bodies: 1), at: .now)
                    sent.append(delivery.uuid)
                }
            }
            #expect(sent.suffix(2) == ["1", "2"], "\(column) = \(number)")
            await stage.store.close()
        }
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
        await stage.store.close()
    }
}
