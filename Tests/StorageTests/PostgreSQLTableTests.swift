import Base
import PostgreSQLClient
import PostgreSQLStorage
import Storage
import StorageTestSupport
import Testing

/// What only the tables of PostgreSQL show.
@Suite("Tables of PostgreSQL", .enabled(if: TestSchema.database != nil, "needs PostgreSQL: make test-postgresql"))
struct PostgreSQLTableTests {
    private let schema: TestSchema
    private let store: PostgreSQLStore
    private let client: PostgreSQLClient
    private let scope: AppScope

    init() async throws {
        schema = try await TestSchema()
        store = try await PostgreSQLStore(schema.configuration, place: schema.name)
        client = PostgreSQLClient(schema.configuration)
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        scope = AppScope(bundleId: bundleId, environment: .production)
    }

    private func counts() async throws -> [String: Int64] {
        let tables = try await client.query(
            PostgreSQLQuery(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = $1", [.text(schema.name)])
        ).rows.map { try $0.text(0) }
        var counts: [String: Int64] = [:]
        for table in tables {
            let rows = try await client.query(PostgreSQLQuery("SELECT count(*) FROM \(table)")).rows
            counts[table] = try #require(rows.first).integer(0)
        }
        return counts
    }

    @Test("Every table is either erased or exempt with a reason")
    func everyTable() async throws {
        let rules = ErasureRule.erased(.postgreSQL)
        var exempt: [String] = []
        for table in StoreTable.all(of: .postgreSQL) {
            if case .exempt(let reason) = table.data.erasure, !reason.isEmpty { exempt.append(table.name) }
        }
        #expect(Set(exempt).isDisjoint(with: rules.map(\.table)))
        #expect(
            try await Set(counts().keys) == Set((rules.map(\.table) + exempt + ["schemaStep"]).map { $0.lowercased() }))
        await client.close()
        await store.close()
    }

    @Test("An erasure deletes the rows of the customer from every table, and no others")
    func whole() async throws {
        try await CustomerDataFixture("84000000000000", token: nil, in: scope).save(to: store)
        let alone = try await counts()
        try await CustomerDataFixture(
            "73000000000000", token: "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f", in: scope
        ).save(to: store)
        let both = try await counts()
        for table in ErasureRule.erased(.postgreSQL).map({ $0.table.lowercased() }) {
            #expect(try #require(both[table]) > #require(alone[table]), "\(table) is not tested")
        }
        let id = try #require(TransactionIdentifier(rawValue: "730000000000001"))
        _ = try await store.erase(ErasureRequest(.transaction(id)), at: Timestamp(milliseconds: 9_000))
        var after = try await counts()
        #expect(after["erasure"] == 1)
        after["erasure"] = 0
        var expected = alone
        // What stays of the customer's two keys.
        expected["events", default: 0] += 2
        for table in ["difference", "comparisonflush"] { expected[table] = both[table] }
        #expect(after == expected)
        await client.close()
        await store.close()
    }
}
