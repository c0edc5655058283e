import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// Notifications that arrive while another one is stored share one transaction and, without a common identifier, one
/// statement.
@Suite(
    "Batches of notifications on PostgreSQL",
    .enabled(if: TestSchema.database != nil, "needs PostgreSQL: make test-postgresql"))
struct NotificationBatchTests {
    private let schema: TestSchema
    private let store: PostgreSQLStore
    private let scope: AppScope

    init() async throws {
        schema = try await TestSchema()
        store = try await PostgreSQLStore(schema.configuration, place: schema.name)
        scope = try AppScope.of()
    }

    private func save(
        _ uuid: String, _ transaction: TransactionRow, to store: PostgreSQLStore, of scope: AppScope? = nil,
        needsLookup: Bool = false
    ) async throws -> NotificationOutcome {
        let row = NotificationRow(uuid, at: transaction.signedDate.milliseconds)
        let update = NotificationUpdate(transaction: transaction, needsLookup: needsLookup)
        return try await store.save(row, update, of: scope ?? self.scope, for: [])
    }

    /// Saves notifications at the same time and returns the outcomes by their UUIDs.
    private func save(
        _ notifications: [(uuid: String, transaction: TransactionRow)], needsLookup: Bool = false
    ) async throws -> [String: NotificationOutcome] {
        try await withThrowingTaskGroup(of: (String, NotificationOutcome).self) { group in
            for (uuid, transaction) in notifications {
                group.addTask {
                    (uuid, try await save(uuid, transaction, to: store, needsLookup: needsLookup))
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    @Test("New transactions of one customer that share a statement get places of their own, and the latest date counts")
    func customer() async throws {
        let originals = (101...160).map(String.init)
        try await store.save(CustomerRow(originals.map { TransactionRow($0, $0, at: 1) }, at: 1), of: scope)
        let outcomes = try await save(
            originals.enumerated().map { ("n\($1)", TransactionRow("9\($1)", $1, at: 1_000 + Int64($0))) },
            needsLookup: true)
        #expect(outcomes.count == 60 && outcomes.values.allSatisfy { $0 == .stored(isNew: true) })
        let rows = try await schema.run(
            """
            SELECT count(*), count(DISTINCT place), max(place), count(DISTINCT customer),
                (SELECT max(needsLookupSince) FROM customer) FROM transactionRecord
            """
        ).rows
        let row = try #require(rows.first)
        #expect(try row.integer(0) == 120 && row.integer(1) == 120 && row.integer(2) == 119 && row.integer(3) == 1)
        #expect(try row.integer(4) == 1_059)
        let statements = try await schema.run("SELECT count(DISTINCT xmin::text) FROM notification").rows.first
        #expect(try #require(statements).integer(0) < 60, "no two notifications were stored together")
    }

    @Test("Of notifications about one transaction that arrive together, each sees the records of those before it")
    func dependent() async throws {
        var notifications = (1...40).map { ("v\($0)", TransactionRow("1", "1", at: Int64($0))) }
        notifications += (1...20).map { ("o\($0)", TransactionRow("2\($0)", "2\($0)", at: 1)) }
        let outcomes = try await save(notifications)
        #expect(outcomes["v40"] == .stored(isNew: true))
        let isNew = outcomes.values.count { $0 == .stored(isNew: true) }
        let row = try #require(
            try await schema.run(
                """
                SELECT (SELECT count(*) FROM supersededTransaction), (SELECT count(*) FROM notification),
                    (SELECT signedDate FROM transactionRecord WHERE transactionId = '1'),
                    (SELECT count(*) FROM events WHERE body LIKE '%"transactions"%')
                """
            ).rows.first)
        #expect(try row.integer(0) == 39 && row.integer(1) == 60 && row.integer(2) == 40)
        // An event lists the transaction exactly if it was the newest one.
        #expect(try row.integer(3) == Int64(isNew))
        #expect(try await save(notifications).values.allSatisfy { $0 == .repeated })
    }

    @Test("Other servers read the identifiers of a notification as they are, with any characters")
    func identifiers() async throws {
        let reader = try await PostgreSQLStore(schema.configuration, place: schema.name)
        let original = #"a "quoted\" text, {with} all,NULL é"#
        #expect(try await save("1", TransactionRow("\\", original, at: 1), to: store) == .stored(isNew: true))
        let changes = try await reader.changes(since: nil).changes
        #expect(changes == [StoredChange(.event, of: [original], transactions: ["\\"], in: scope)])
        // What is already stored is not a change.
        #expect(try await save("1", TransactionRow("\\", original, at: 1), to: store) == .repeated)
        #expect(try await reader.changes(since: nil).changes.count == 1)
        await reader.close()
    }

    @Test("Of two apps that name the same UUID at the same time, one notification is stored with its records")
    func sameUUID() async throws {
        let other = try AppScope.of("com.example.other")
        let outcomes = try await withThrowingTaskGroup(of: NotificationOutcome.self) { group in
            for id in 1...20 {
                for app in [scope, other] {
                    group.addTask {
                        try await save("\(id)", TransactionRow("1\(id)", "1\(id)", at: 1), to: store, of: app)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .stored(isNew: true) } == 20 && outcomes.count { $0 == .repeated } == 20)
        let row = try #require(
            try await schema.run(
                """
                SELECT (SELECT count(*) FROM notification), (SELECT count(*) FROM transactionRecord),
                    (SELECT count(*) FROM transactionRecord JOIN notification USING (app, originalTransactionId))
                """
            ).rows.first)
        #expect(try row.integer(0) == 20 && row.integer(1) == 20 && row.integer(2) == 20)
    }

    @Test("A plan that was made while the tables were empty does not scan them")
    func plans() async throws {
        try await schema.run(
            """
            WITH scope AS (INSERT INTO app (bundleId, environment) VALUES ('com.example.app', 'Production') RETURNING id),
            owner AS (INSERT INTO customer (app, askedAt) SELECT id, 1 FROM scope RETURNING id, app),
            refund AS (INSERT INTO revocation (app, transactionId, date) SELECT app, '1', 1 FROM owner)
            INSERT INTO transactionRecord
            (app, transactionId, originalTransactionId, customer, place, signedDate, text, appAccountToken)
            SELECT app, '1', '1', id, 0, 1, '', '' FROM owner
            """)
        for date in 2...6 as ClosedRange<Int64> {
            let outcome = try await save("\(date)", TransactionRow("1", "1", at: date), to: store, needsLookup: true)
            #expect(outcome == .stored(isNew: true))
        }
        await store.close()
        func statistics(_ column: String) async throws -> Int64 {
            let query = """
                SELECT coalesce(sum(\(column)), 0)::bigint FROM pg_stat_user_tables
                WHERE schemaname = current_schema() AND relname IN ('transactionrecord', 'revocation', 'customer')
                """
            return try await schema.run(query).rows.first?.integer(0) ?? 0
        }
        // The statistics are complete a moment after the connections have ended.
        #expect(await eventually { (try? await statistics("n_tup_upd + n_tup_del")) ?? 0 >= 11 })
        #expect(try await statistics("seq_tup_read") == 0)
    }

    @Test("A notification that cannot be stored does not hold up those that arrive with it")
    func invalid() async throws {
        try await concurrently(1...40) { id in
            // PostgreSQL cannot hold U+0000.
            let target = scope.target("raw", "\0")
            do throws(StorageError) {
                let row = NotificationRow("\(id)", "\(id)", at: 1, signed: .some(nil))
                _ = try await store.save(row, NotificationUpdate(), of: scope, for: id % 10 == 0 ? [target] : [])
                #expect(id % 10 != 0)
            } catch {
                #expect(id % 10 == 0)
            }
        }
        #expect(try await store.notificationCount() == 36)
    }
}
