import ReceiptBridgeStorage
import Synchronization
import ReceiptBridgeTestSupport
import Testing

@Suite("Client of PostgreSQL", .enabled(if: TestDatabase.isAvailable, "needs PostgreSQL: make test-postgresql"))
struct PostgreSQLClientTests {
    @Test("Values of every type come back as they were sent")
    func roundTrip() async throws {
        let client = TestDatabase.client()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        let query = PostgreSQLQuery(
            """
            SELECT $1::bigint, $2::text, $3::bytea, $4::boolean, $5::bigint[], $6::text[], $7::bytea[], $8::text,
            7::smallint, -8::integer, $9::bigint, $10::text, $11::bytea, $12::bigint[], $13::bytea[], false
            """,
            [
                .integer(.min), "é\n'", .bytes(bytes), true, .integers([.max, -1]),
                .texts(["", "a,b", "NULL"]),
                .byteStrings([]), nil, .integer(.max), "", .bytes([]), .integers([]),
                .byteStrings([[0], [], [255]]),
            ])
        for _ in 0..<2 {
            let row = try #require(try await client.query(query).rows.first)
            #expect(try row.integer(0) == .min && row.integer(10) == .max)
            #expect(try row.integer(8) == 7 && row.integer(9) == -8)
            #expect(try row.text(1) == "é\n'" && row.text(11).isEmpty)
            #expect(try row.bytes(2) == bytes && row.bytes(12).isEmpty)
            #expect(try row.boolean(3) && !row.boolean(15))
            #expect(try row.integers(4) == [.max, -1] && row.integers(13).isEmpty)
            #expect(try row.texts(5) == ["", "a,b", "NULL"])
            #expect(try row.byteStrings(6).isEmpty && row.byteStrings(14) == [[0], [], [255]])
            #expect(try row.optionalText(7) == nil)
        }
    }

    @Test("Arrays of every type come back with their nulls, and an element of another type is not sent")
    func arrays() async throws {
        let client = TestDatabase.client()
        let query = PostgreSQLQuery(
            "SELECT $1::bigint[]::text, $2::text[]::text, $3::bytea[]::text, $4::boolean[]::text, $5::text[]::text",
            [
                .array(.integer, [.integer(-7), .null]), .array(.text, [.null, "é", ""]),
                .array(.bytes, [.bytes([1, 255]), .null, .bytes([])]), .array(.boolean, [true, .null, false]),
                .array(.text, []),
            ])
        let row = try #require(try await client.query(query).rows.first)
        #expect(try row.text(0) == "{-7,NULL}" && row.text(1) == #"{NULL,é,""}"#)
        #expect(try row.text(2) == #"{"\\x01ff",NULL,"\\x"}"# && row.text(3) == "{t,NULL,f}" && row.text(4) == "{}")
        let mixed = await failure {
            _ = try await client.query(PostgreSQLQuery("SELECT $1::text[]::text", [.array(.text, ["a", .integer(1)])]))
        }
        #expect(mixed?.code == .invalid && mixed?.sqlState == nil)
    }

    @Test("A null, a wrong type and a missing column are errors, and U+0000 is not sent")
    func invalidValues() async throws {
        let client = TestDatabase.client()
        let row = try #require(
            try await client.query("SELECT NULL::bigint, 'a'::text, ARRAY[1, NULL]::bigint[]").rows.first)
        #expect(throws: PostgreSQLError.self) { try row.integer(0) }
        #expect(throws: PostgreSQLError.self) { try row.integer(1) }
        #expect(throws: PostgreSQLError.self) { try row.integers(2) }
        #expect(throws: PostgreSQLError.self) { try row.text(3) }
        #expect(try row.optionalInteger(0) == nil)
        let zero = await failure {
            _ = try await client.query(PostgreSQLQuery("SELECT $1::text", ["secret\0"]))
        }
        #expect(zero?.code == .invalid && zero?.sqlState == nil)
        let number = await failure {
            _ = try await client.query(PostgreSQLQuery("SELECT $1::text::bigint", ["secret"]))
        }
        #expect(number?.sqlState == "22P02" && number?.description.contains("secret") == false)
    }

    @Test("A batch is committed as a whole or not at all")
    func batch() async throws {
        let client = TestDatabase.client()
        _ = try await client.run(["DROP TABLE IF EXISTS batchTest", "CREATE TABLE batchTest (id bigint PRIMARY KEY)"])
        let insert = PostgreSQLQuery("INSERT INTO batchTest VALUES ($1)", [1])
        let failure = await failure { _ = try await client.run([insert, insert, insert]) }
        #expect(failure?.code == .duplicate && failure?.sqlState == "23505")
        let count = PostgreSQLQuery("SELECT count(*) FROM batchTest")
        #expect(try await client.query(count).rows[0].integer(0) == 0)
        let results = try await client.run([insert, count])
        #expect(results[0].affectedRows == 1)
        #expect(try results[1].rows[0].integer(0) == 1)
    }

    @Test("Rows are copied, and a duplicate among them undoes the whole copy")
    func copying() async throws {
        let client = TestDatabase.client()
        _ = try await client.run([
            "DROP TABLE IF EXISTS copyTest", "CREATE TABLE copyTest (id bigint PRIMARY KEY, note bytea)",
        ])
        let copy = "COPY copyTest FROM STDIN (FORMAT binary)"
        let note = [UInt8](repeating: 0, count: 1_000)
        let rows = (1...5_000).map { [PostgreSQLValue.integer($0), $0 % 2 == 0 ? nil : .bytes(note)] }
        let copied = try await client.transaction(within: .seconds(20)) { try await $0.copyIn(copy, rows: rows) }
        #expect(copied == 5_000)
        let duplicate = await failure {
            _ = try await client.transaction { try await $0.copyIn(copy, rows: [[6_000, nil], [1, nil]]) }
        }
        #expect(duplicate?.code == .duplicate)
        let count = try await client.query("SELECT count(*), sum(length(note))::bigint FROM copyTest")
            .rows[0]
        #expect(try count.integer(0) == 5_000 && count.integer(1) == 2_500_000)
    }

    @Test("A transaction is rolled back if its body throws or ignores an error")
    func transaction() async throws {
        let client = TestDatabase.client()
        _ = try await client.run([
            "DROP TABLE IF EXISTS transactionTest",
            "CREATE TABLE transactionTest (id bigint PRIMARY KEY)",
        ])
        let insert = PostgreSQLQuery("INSERT INTO transactionTest VALUES ($1)", [1])
        struct Refusal: Error {}
        await #expect(throws: Refusal.self) {
            try await client.transaction { transaction in
                _ = try await transaction.query(insert)
                throw Refusal()
            }
        }
        let ignored = await failure {
            try await client.transaction { transaction in
                _ = try await transaction.query(insert)
                _ = await failure { _ = try await transaction.query(insert) }
            }
        }
        #expect(ignored?.code == .duplicate)
        let found = try await client.transaction { transaction in
            _ = try await transaction.query(insert)
            return try await transaction.query("SELECT id FROM transactionTest").rows.count
        }
        #expect(found == 1)
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .relaxed) }
        func increment() { count.add(1, ordering: .relaxed) }
    }

    private static func update(_ id: Int64) -> PostgreSQLQuery {
        PostgreSQLQuery("UPDATE conflictTest SET count = count + 1 WHERE id = $1", [.integer(id)])
    }

    @Test(
        "A transaction that fails with its first or its last statements keeps its connection, and nothing of it is stored"
    )
    func failures() async throws {
        let client = PostgreSQLClient(TestDatabase.configuration(connections: 1))
        for statement in [
            "DROP TABLE IF EXISTS failureTest", "CREATE TABLE failureTest (id bigint PRIMARY KEY)",
        ] { _ = try await client.query(PostgreSQLQuery(statement)) }
        let insert = PostgreSQLQuery("INSERT INTO failureTest VALUES ($1)", [1])
        func connection() async throws -> Int64 {
            try await client.query(PostgreSQLQuery("SELECT pg_backend_pid()::bigint")).rows[0].integer(0)
        }
        let first = try await connection()
        let failing: [@Sendable (PostgreSQLTransaction) async throws -> Void] = [
            { _ = try await $0.run([insert, insert]) }, { try await $0.commit(after: [insert, insert]) },
            { transaction in
                _ = try await transaction.query(insert)
                try await transaction.commit(after: [insert])
            },
        ]
        for body in failing {
            #expect(await failure { try await client.transaction { try await body($0) } }?.code == .duplicate)
            #expect(try await connection() == first)
        }
        #expect(try await client.query(PostgreSQLQuery("SELECT id FROM failureTest")).rows.isEmpty)
        try await client.transaction { try await $0.commit(after: [insert]) }
        #expect(try await client.query(PostgreSQLQuery("SELECT id FROM failureTest")).rows.count == 1)
        #expect(try await connection() == first)
    }

    @Test("Transactions in conflict are repeated until both are committed")
    func conflict() async throws {
        let client = TestDatabase.client()
        _ = try await client.run([
            "DROP TABLE IF EXISTS conflictTest",
            "CREATE TABLE conflictTest (id bigint PRIMARY KEY, count bigint)",
            "INSERT INTO conflictTest VALUES (1, 0), (2, 0)",
        ])
        let (bodies, locked) = (Counter(), Counter())
        // Each locks one row and then the other's, so that the server ends one of them.
        try await concurrently([(Int64(1), Int64(2)), (2, 1)]) { (first, second) in
            try await client.transaction(within: .seconds(20)) { transaction in
                bodies.increment()
                _ = try await transaction.query(Self.update(first))
                locked.increment()
                for _ in 0..<1_000 where locked.value < 2 { try await Task.sleep(for: .milliseconds(5)) }
                _ = try await transaction.query(Self.update(second))
            }
        }
        #expect(bodies.value > 2)
        let rows = try await client.query("SELECT count FROM conflictTest").rows
        #expect(try rows.map { try $0.integer(0) } == [2, 2])
    }

    @Test("A call over its limit ends in time, and does not disturb others")
    func deadline() async throws {
        let client = TestDatabase.client()
        try await client.connected(within: .seconds(10))
        // Has a connection of its own beside that of the next statement.
        try await client.transaction { _ = try await $0.query("SELECT 1") }
        let start = ContinuousClock.now
        // Alone on its connection, because later calls choose a connection with less to do.
        async let slow = failure {
            _ = try await client.query("SELECT pg_sleep(20)", within: .milliseconds(300))
        }
        try await Task.sleep(for: .milliseconds(50))
        for number in 0..<200 {
            let row = try await client.query(PostgreSQLQuery("SELECT $1::bigint", [.integer(Int64(number))])).rows[0]
            #expect(try row.integer(0) == Int64(number))
        }
        #expect(await slow?.code == .outcomeUnknown)
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test("The server cancels a statement before the client gives up, and a longer limit of a call counts")
    func serverTimeout() async throws {
        // The server cancels a tenth of the limit earlier, which is short if the machine is busy.
        for limit in [Duration.milliseconds(500), .seconds(2), .seconds(8)] {
            var configuration = TestDatabase.configuration()
            configuration.statementTimeout = limit
            let client = PostgreSQLClient(configuration)
            try await client.connected(within: .seconds(10))
            let canceled = await failure { _ = try await client.query("SELECT pg_sleep(60)") }
            if canceled?.code == .outcomeUnknown, limit < .seconds(8) {
                await client.close()
                continue
            }
            #expect(canceled?.code == .timedOut && canceled?.sqlState == "57014")
            let longer = await failure {
                _ = try await client.query(
                    PostgreSQLQuery("SELECT pg_sleep(\(limit / .seconds(1) + 0.3))"), within: .seconds(60))
            }
            #expect(longer == nil)
            await client.close()
            break
        }
    }

    @Test("Hundreds of tasks share few connections")
    func concurrency() async throws {
        let client = TestDatabase.client()
        let sum = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<400 {
                group.addTask {
                    if number % 50 == 0 {
                        return try await client.transaction(within: .seconds(20)) { transaction in
                            try await transaction.query(PostgreSQLQuery("SELECT $1", [.integer(Int64(number))]))
                                .rows[0]
                                .integer(0)
                        }
                    }
                    return try await client.query(PostgreSQLQuery("SELECT $1", [.integer(Int64(number))]))
                        .rows[0]
                        .integer(0)
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 400 * 399 / 2)
        await client.close()
        #expect(await failure { _ = try await client.query("SELECT 1") }?.code == .closed)
    }

    @Test("A statement is prepared again after the columns of its table have changed")
    func changedTable() async throws {
        let client = PostgreSQLClient(TestDatabase.configuration(connections: 1))
        _ = try await client.run(["DROP TABLE IF EXISTS changedTest", "CREATE TABLE changedTest (id bigint)"])
        let insert = PostgreSQLQuery("INSERT INTO changedTest VALUES ($1)", [1])
        _ = try await client.run([insert, insert])
        #expect(try await client.query("SELECT * FROM changedTest").rows.count == 2)
        _ = try await client.query("ALTER TABLE changedTest ADD note text DEFAULT 'a'")
        let row = try #require(try await client.query("SELECT * FROM changedTest").rows.first)
        #expect(try row.text(1) == "a")
    }

    @Test(
        "Without prepared statements, a pooler in transaction mode works",
        .enabled(if: TestDatabase.pooler != nil, "needs PgBouncer: make test-postgresql"))
    func pooler() async throws {
        var configuration = PostgreSQLConfiguration(parameters: TestDatabase.pooler ?? [])
        configuration.preparedStatements = false
        let client = PostgreSQLClient(configuration)
        try await client.connected(within: .seconds(10))
        for number in 0..<50 {
            let query = PostgreSQLQuery("SELECT $1::bigint", [.integer(Int64(number))])
            #expect(try await client.query(query).rows[0].integer(0) == Int64(number))
        }
        let timeout = try await client.transaction { transaction in
            try await transaction.query("SELECT current_setting('statement_timeout')").rows[0].text(0)
        }
        #expect(timeout == "4500ms")
    }
}
