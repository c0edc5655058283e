import PostgreSQLClient
import Testing

@Suite("Client of PostgreSQL", .enabled(if: TestDatabase.isAvailable))
struct PostgreSQLClientTests {
    private func error(_ body: () async throws -> Void) async -> PostgreSQLError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? PostgreSQLError
        }
    }

    @Test("Values of every type come back as they were sent")
    func roundTrip() async throws {
        let client = TestDatabase.client()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        let query = PostgreSQLQuery(
            "SELECT $1::bigint, $2::text, $3::bytea, $4::boolean, $5::bigint[], $6::text[], $7::bytea[], $8::text",
            [
                .integer(.min), "é\n'", .bytes(bytes), true, .integers([.max, -1]), .texts(["", "a,b"]),
                .byteStrings([]),
                nil,
            ])
        let row = try #require(try await client.query(query).rows.first)
        #expect(try row.integer(0) == .min)
        #expect(try row.text(1) == "é\n'")
        #expect(try row.bytes(2) == bytes)
        #expect(try row.boolean(3))
        #expect(try row.integers(4) == [.max, -1])
        #expect(try row.texts(5) == ["", "a,b"])
        #expect(try row.optionalText(7) == nil)
        await client.close()
    }

    @Test("A batch is committed as a whole or not at all")
    func batch() async throws {
        let client = TestDatabase.client()
        _ = try await client.run([
            PostgreSQLQuery("DROP TABLE IF EXISTS batchTest"),
            PostgreSQLQuery("CREATE TABLE batchTest (id bigint PRIMARY KEY)"),
        ])
        let insert = PostgreSQLQuery("INSERT INTO batchTest VALUES ($1)", [1])
        let failure = await error { _ = try await client.run([insert, insert, insert]) }
        #expect(failure?.code == .duplicate && failure?.sqlState == "23505")
        let count = PostgreSQLQuery("SELECT count(*) FROM batchTest")
        #expect(try await client.query(count).rows[0].integer(0) == 0)
        let results = try await client.run([insert, count])
        #expect(results[0].affectedRows == 1)
        #expect(try results[1].rows[0].integer(0) == 1)
        let copied = try await client.copyIn(
            "COPY batchTest FROM STDIN (FORMAT binary)", rows: (2...100).map { [.integer($0)] })
        #expect(copied == 99)
        await client.close()
    }

    @Test("A transaction is rolled back if its body throws")
    func transaction() async throws {
        let client = TestDatabase.client()
        _ = try await client.run([
            PostgreSQLQuery("DROP TABLE IF EXISTS transactionTest"),
            PostgreSQLQuery("CREATE TABLE transactionTest (id bigint PRIMARY KEY)"),
        ])
        let insert = PostgreSQLQuery("INSERT INTO transactionTest VALUES ($1)", [1])
        struct Refusal: Error {}
        await #expect(throws: Refusal.self) {
            try await client.transaction { transaction in
                _ = try await transaction.query(insert)
                throw Refusal()
            }
        }
        let found = try await client.transaction { transaction in
            _ = try await transaction.query(insert)
            return try await transaction.query(PostgreSQLQuery("SELECT id FROM transactionTest")).rows.count
        }
        #expect(found == 1)
        await client.close()
    }

    @Test("A statement over its limit ends in time, and does not disturb others")
    func deadline() async throws {
        let client = TestDatabase.client()
        try await client.connected(within: .seconds(10))
        let begin = ContinuousClock.now
        async let slow = error {
            _ = try await client.query(PostgreSQLQuery("SELECT pg_sleep(20)"), within: .milliseconds(300))
        }
        for number in 0..<200 {
            let row = try await client.query(PostgreSQLQuery("SELECT $1::bigint", [.integer(Int64(number))])).rows[0]
            #expect(try row.integer(0) == Int64(number))
        }
        #expect(await slow?.code == .outcomeUnknown)
        #expect(ContinuousClock.now - begin < .seconds(10))
        await client.close()
    }

    @Test("After the server ended a connection, calls succeed on a new one")
    func reconnecting() async throws {
        let client = TestDatabase.client()
        try await client.connected(within: .seconds(10))
        let other = TestDatabase.client()
        _ = try await other.query(
            PostgreSQLQuery(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'receipt-bridge'"
            ))
        let deadline = ContinuousClock.now + .seconds(20)
        var isBack = false
        while !isBack && ContinuousClock.now < deadline {
            isBack = (try? await client.query(PostgreSQLQuery("SELECT 1"))) != nil
            if !isBack { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(isBack)
        await client.close()
        await other.close()
    }

    @Test("Hundreds of tasks share few connections")
    func concurrency() async throws {
        let client = TestDatabase.client()
        let sum = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<400 {
                group.addTask {
                    try await client.query(PostgreSQLQuery("SELECT $1::bigint", [.integer(Int64(number))])).rows[0]
                        .integer(0)
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 400 * 399 / 2)
        await client.close()
    }
}

@Suite("Client of PostgreSQL without a server")
struct PostgreSQLFailureTests {
    @Test("A missing library is an error that says what to install")
    func missingLibrary() async {
        var configuration = PostgreSQLConfiguration(parameters: [("host", "127.0.0.1"), ("port", "1")])
        configuration.library = "libpq-that-does-not-exist.so.5"
        let client = PostgreSQLClient(configuration)
        await #expect(throws: PostgreSQLError.self) { try await client.query(PostgreSQLQuery("SELECT 1")) }
        #expect(client.lastError?.code == .libraryMissing)
        #expect(client.lastError?.reason.contains("apt-get install libpq5") == true)
        await client.close()
    }
}
