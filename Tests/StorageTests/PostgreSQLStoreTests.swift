import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Store on PostgreSQL", .enabled(if: TestSchema.database != nil, "needs PostgreSQL: make test-postgresql"))
struct PostgreSQLStoreTests {
    private func scope() throws -> AppScope {
        try AppScope.of()
    }

    private func notification(_ id: Int, at date: Int64) -> (NotificationRow, NotificationUpdate) {
        (
            NotificationRow("\(id) \(date)", at: date),
            NotificationUpdate(transaction: TransactionRow("\(id)", at: date))
        )
    }

    @Test("Servers that start at the same time with an empty database all open the store")
    func start() async throws {
        let schema = try await TestSchema()
        try await concurrently(0..<4) { _ in
            let store = try await PostgreSQLStore(schema.configuration, place: schema.name)
            #expect(try await store.notificationCount() == 0)
            await store.close()
        }
        let slots = try await schema.run("SELECT count(*) FROM lockSlot").rows.first?.integer(0)
        #expect(slots == 65_536)
    }

    @Test("The table of schema steps can be created by many servers at the same time")
    func stepTable() async throws {
        let schema = try await TestSchema()
        try await concurrently(0..<8) { _ in
            let client = PostgreSQLClient(schema.configuration)
            try await client.connected(within: .seconds(10))
            for _ in 0..<50 {
                _ = try await client.run(PostgreSQLStore.createStepTable)
                // The next server creates it again.
                _ = try await client.query(SQLStatement("DROP TABLE IF EXISTS schemaStep"))
            }
            await client.close()
        }
    }

    @Test("A store with additional steps of a newer version is opened, unless one of them is incompatible")
    func newer() async throws {
        let schema = try await TestSchema()
        await (try PostgreSQLStore(schema.configuration, place: schema.name)).close()
        try await schema.run("INSERT INTO schemaStep (name, isCompatible) VALUES ('additional', true)")
        await (try PostgreSQLStore(schema.configuration, place: schema.name)).close()
        try await schema.run("INSERT INTO schemaStep (name, isCompatible) VALUES ('incompatible', false)")
        let error = await #expect(throws: StorageError.self) {
            try await PostgreSQLStore(schema.configuration, place: schema.name)
        }
        #expect(error?.code == .changed && error?.place == schema.name)
    }

    /// Returns what PostgreSQL knows about the columns, constraints, indexes and sequences of a schema.
    private func shape(of schema: TestSchema) async throws -> Set<String> {
        let rows = try await schema.run(
            """
            SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, column_default,
                identity_generation) FROM information_schema.columns WHERE table_schema = current_schema()
            UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
            FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
            UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
            UNION ALL SELECT concat_ws(' ', sequencename, start_value, increment_by)
            FROM pg_sequences WHERE schemaname = current_schema()
            UNION ALL SELECT pg_get_serial_sequence('events', 'sequence')
            UNION ALL SELECT concat_ws(' ', count(*), min(slot), max(slot)) FROM lockSlot
            UNION ALL SELECT concat_ws(' ', name, isCompatible) FROM schemaStep
            """
        ).rows
        return Set(try rows.map { try $0.text(0).replacing(schema.name + ".", with: "") })
    }

    @Test("A database of 0.1.0 gets the tables of a new one; one from before is refused")
    func upgraded() async throws {
        let (old, new) = (try await TestSchema(), try await TestSchema())
        let client = PostgreSQLClient(old.configuration)
        let statements = try StoreSamples.tables(of: "0.1.0.postgresql").split(separator: ";\n")
        _ = try await client.run(statements.map { SQLStatement(String($0)) })
        await client.close()
        for schema in [old, new] { await (try PostgreSQLStore(schema.configuration, place: schema.name)).close() }
        let (expected, found) = (try await shape(of: new), try await shape(of: old))
        #expect(expected.count > 300 && expected.symmetricDifference(found) == [])
        try await old.run("DELETE FROM schemaStep WHERE name = 'rollouts'")
        let error = await #expect(throws: StorageError.self) {
            try await PostgreSQLStore(old.configuration, place: old.name)
        }
        #expect(error?.reason == "the store is from before 0.1.0; open it once with version 0.1.0")
    }

    @Test("Nothing that was stored is lost or stored twice if connections end while notifications arrive")
    func endedConnections() async throws {
        let schema = try await TestSchema()
        let scope = try scope()
        let changes = Mutex<[StorageError.Code?]>([])
        let store = PostgreSQLStore(opening: schema.configuration, place: schema.name) { error in
            changes.withLock { $0.append(error?.code) }
        }
        #expect(await store.whenOpen())
        let (purchases, versions) = (0..<20, 1...20 as ClosedRange<Int64>)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in purchases {
                group.addTask {
                    for version in versions {
                        let (row, update) = notification(id + 1, at: version)
                        // As the App Store does, sends it again after an error.
                        while true {
                            do throws(StorageError) {
                                _ = try await store.save(row, update, of: scope, for: [])
                                break
                            } catch {
                                guard error.code == .notOpen else { throw error }
                                try? await Task.sleep(for: .milliseconds(20))
                            }
                        }
                    }
                }
            }
            group.addTask {
                for _ in 0..<5 {
                    try await schema.endConnections()
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.notificationCount() == purchases.count * versions.count)
        for id in purchases {
            let identifier = try #require(TransactionIdentifier(rawValue: "\(id + 1)"))
            #expect(try await store.transaction(identifier, in: scope) == "\(id + 1)@\(versions.upperBound)")
        }
        let history = try await schema.run("SELECT count(*) FROM supersededTransaction").rows.first?.integer(0)
        #expect(history == Int64(purchases.count * (versions.count - 1)))
        #expect(changes.withLock { $0.last } != .some(.notOpen))
        await store.close()
        await #expect(throws: StorageError.self) { try await store.notificationCount() }
    }

    @Test("Without a server the store is not open, and reports the reason once")
    func unreachable() async throws {
        let folder = try TemporaryFolder()
        let configuration = PostgreSQLConfiguration(
            parameters: [("host", folder.path("socket")), ("dbname", "x"), ("user", "x")])
        let errors = AsyncStream.makeStream(of: StorageError?.self)
        let store = PostgreSQLStore(opening: configuration, place: "db", pauses: [.milliseconds(10)]) { error in
            errors.continuation.yield(error)
        }
        let first = await errors.stream.first { _ in true }
        #expect(first??.code == .notOpen && !store.isOpen)
        let error = await #expect(throws: StorageError.self) { try await store.notificationCount() }
        #expect(error?.code == .notOpen)
        async let isOpen = store.whenOpen()
        await store.close()
        #expect(await !isOpen)
    }
}
