import Foundation
import ReceiptBridgeStorage
import Testing

@Suite(
    "Client of PostgreSQL while the server is away",
    .enabled(if: TestDatabase.isAvailable, "needs PostgreSQL: make test-postgresql"),
    .serialized)
struct PostgreSQLOutageTests {
    @Test("After the server ended the connections, calls succeed on new ones")
    func terminated() async throws {
        var configuration = TestDatabase.configuration()
        configuration.applicationName = "to be terminated"
        let client = PostgreSQLClient(configuration)
        try await client.connected(within: .seconds(10))
        async let interrupted = failure {
            _ = try await client.query("SELECT pg_sleep(60)", within: .seconds(60))
        }
        let other = TestDatabase.client()
        try await other.connected(within: .seconds(10))
        let running = PostgreSQLQuery(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'to be terminated' AND state = 'active' AND query LIKE '%pg_sleep%'
            """)
        for _ in 0..<1_000 where try await other.query(running).rows[0].integer(0) == 0 {
            try await Task.sleep(for: .milliseconds(10))
        }
        let terminate = PostgreSQLQuery(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'to be terminated'"
        )
        #expect(try await other.query(terminate).rows[0].integer(0) > 0)
        #expect(await interrupted?.code == .outcomeUnknown)
        #expect(await succeeds(client, within: .seconds(20)))
    }

    @Test(
        "While the server is stopped calls fail at once, and afterwards they succeed",
        .enabled(if: TestDatabase.control != nil, "needs a PostgreSQL that it may stop: make test-postgresql"))
    func stopped() async throws {
        let client = TestDatabase.client()
        try await client.connected(within: .seconds(10))
        try TestDatabase.control("stop")
        let deadline = ContinuousClock.now + .seconds(10)
        while client.lastError?.code != .notConnected || client.isConnected,
            ContinuousClock.now < deadline
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        let start = ContinuousClock.now
        #expect(await failure { _ = try await client.query("SELECT 1") }?.code == .notConnected)
        #expect(ContinuousClock.now - start < .seconds(3))
        try TestDatabase.control("start")
        #expect(await succeeds(client, within: .seconds(30)))
    }

    @Test(
        "While the server hangs, calls end at their limit",
        .enabled(if: TestDatabase.control != nil, "needs a PostgreSQL that it may stop: make test-postgresql"))
    func hanging() async throws {
        let client = TestDatabase.client()
        try await client.connected(within: .seconds(10))
        try TestDatabase.control("pause")
        let start = ContinuousClock.now
        let failure = await failure {
            _ = try await client.query("SELECT 1", within: .milliseconds(500))
        }
        let duration = ContinuousClock.now - start
        try TestDatabase.control("resume")
        #expect(failure?.code == .outcomeUnknown)
        #expect(duration >= .milliseconds(500) && duration < .seconds(10))
        #expect(await succeeds(client, within: .seconds(30)))
    }

    // T35
    @Test(
        "A wrong password is reported without the password",
        .enabled(if: TestDatabase.control != nil, "needs a PostgreSQL that it may stop: make test-postgresql"))
    func password() async throws {
        var configuration = TestDatabase.configuration(["host": "127.0.0.1", "user": "guarded"])
        configuration.password = { "wrong sesame" }
        let rejected = PostgreSQLClient(configuration)
        let error = await failure { try await rejected.connected(within: .seconds(10)) }
        #expect(error?.code == .notPermitted && error?.description.contains("sesame") == false)
        await rejected.close()
        configuration.password = { "open sesame" }
        let accepted = PostgreSQLClient(configuration)
        #expect(await failure { try await accepted.connected(within: .seconds(10)) } == nil)
        await accepted.close()
    }

    @Test("A missing database is reported")
    func missingDatabase() async {
        let client = PostgreSQLClient(TestDatabase.configuration(["dbname": "not there"]))
        let error = await failure { try await client.connected(within: .seconds(10)) }
        #expect(error?.code == .missing && client.lastError?.code == .missing)
    }

    @Test("If the first of two hosts is dead, the second is used")
    func twoHosts() async throws {
        let port = try #require(TestDatabase.parameters?.first { $0.keyword == "port" }?.value)
        let host = try #require(TestDatabase.parameters?.first { $0.keyword == "host" }?.value)
        let client = PostgreSQLClient(TestDatabase.configuration(["host": "127.0.0.1,\(host)", "port": "1,\(port)"]))
        #expect(await failure { try await client.connected(within: .seconds(10)) } == nil)
    }
}

@Suite("Client of PostgreSQL without a server")
struct PostgreSQLFailureTests {
    @Test("A missing library is an error that says what to install")
    func missingLibrary() async {
        var configuration = PostgreSQLConfiguration(parameters: [("host", "127.0.0.1"), ("port", "1")])
        configuration.library = "libpq-that-does-not-exist.so.5"
        let client = PostgreSQLClient(configuration)
        #expect(await failure { _ = try await client.query("SELECT 1") } != nil)
        #expect(client.lastError?.code == .libraryMissing)
        #expect(client.lastError?.reason.contains("apt-get install libpq5") == true)
        #expect(await failure { try await client.connected(within: .seconds(10)) }?.code == .libraryMissing)
    }

    @Test("A password among the parameters is refused")
    func passwordParameter() async {
        let client = PostgreSQLClient(PostgreSQLConfiguration(parameters: [("password", "secret")]))
        let error = await failure { try await client.connected(within: .seconds(10)) }
        // Without libpq on this machine, the library is the first error.
        #expect(error?.code == .invalid || error?.code == .libraryMissing)
        #expect(error?.description.contains("secret") == false)
    }
}
