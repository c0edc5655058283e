import Base
import PostgreSQLClient

/// The tables. Names are not quoted, so SQL can write them in any case.
extension MigrationDatabase {
    private static let version: Int64 = 1
    private static let attempts = 8

    /// - `migration`: one row for each source. `options` and `fingerprint` are JSON.
    /// - `migrationLease`: who plans, resolves or asks. `term` increases with each holder.
    /// - `migrationChunk`: `state` is 0 waiting, 1 leased, 2 ended. `counts` are those of its rows, as JSON.
    /// - `results`: a row for each row of the source, with the columns of ``ResultColumn/shared``.
    /// - `migrationScope`: an app in one environment.
    /// - `migrationCustomer`: `state` is 0 waiting, 1 known, 2 not found, 3 failed. `claims` are the ids of rows that
    ///   are not authentic. `root` is the customer that it is merged into, itself for most.
    /// - `migrationIdentifier`: assigns identifiers to customers.
    /// - `migrationAlias`: two customers that are the same, until they are merged.
    private static let tables = [
        "CREATE TABLE migrationLayout (version bigint PRIMARY KEY)",
        "INSERT INTO migrationLayout VALUES (\(version))",
        "CREATE SEQUENCE migrationCustomerKey",
        """
        CREATE TABLE migration (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, fingerprint text NOT NULL,
            options text NOT NULL, createdAt bigint NOT NULL, isPlanned boolean NOT NULL DEFAULT false,
            isResolved boolean NOT NULL DEFAULT false, calls bigint NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE migrationLease (
            migration bigint NOT NULL, task text NOT NULL, holder text NOT NULL, term bigint NOT NULL,
            expiresAt bigint NOT NULL, PRIMARY KEY (migration, task))
        """,
        """
        CREATE TABLE migrationChunk (
            migration bigint NOT NULL, number bigint NOT NULL, first text, last text NOT NULL, rows bigint,
            state bigint NOT NULL DEFAULT 0, holder text, term bigint NOT NULL DEFAULT 0, expiresAt bigint,
            counts text, PRIMARY KEY (migration, number))
        """,
        "CREATE INDEX migrationChunkOpen ON migrationChunk (migration, number) WHERE state < 2",
        """
        CREATE TABLE results (
            migration bigint NOT NULL, chunk bigint NOT NULL, row bigint NOT NULL, customer bigint,
            \(ResultColumn.shared.map { "\($0.rawValue) \($0.type)" }.joined(separator: ", ")),
            PRIMARY KEY (migration, chunk, row))
        """,
        "CREATE INDEX resultsById ON results (id)",
        "CREATE INDEX resultsByCustomer ON results (customer) WHERE customer IS NOT NULL",
        """
        CREATE TABLE migrationScope (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, bundleId text NOT NULL, environment text NOT NULL,
            UNIQUE (bundleId, environment))
        """,
        """
        CREATE TABLE migrationCustomer (
            key bigint PRIMARY KEY, migration bigint NOT NULL, scope bigint NOT NULL, root bigint NOT NULL,
            expires bigint, claims text, state bigint NOT NULL DEFAULT 0, reason text, environment text, askedAt bigint)
        """,
        "CREATE INDEX migrationCustomerByKey ON migrationCustomer (migration, scope, key) WHERE state = 0",
        """
        CREATE INDEX migrationCustomerByExpiry ON migrationCustomer (migration, scope, expires DESC NULLS LAST, key)
            WHERE state = 0
        """,
        "CREATE INDEX migrationCustomerFailed ON migrationCustomer (migration, askedAt) WHERE state = 3",
        "CREATE INDEX migrationCustomerMerged ON migrationCustomer (migration, root) WHERE root <> key",
        """
        CREATE TABLE migrationIdentifier (
            migration bigint NOT NULL, scope bigint NOT NULL, identifier text NOT NULL, customer bigint NOT NULL,
            PRIMARY KEY (migration, scope, identifier))
        """,
        "CREATE INDEX migrationIdentifierByCustomer ON migrationIdentifier (customer)",
        "CREATE TABLE migrationAlias (migration bigint, low bigint, high bigint, PRIMARY KEY (migration, low, high))",
        customersView,
    ]

    /// A row for each customer. Until all chunks have ended, a customer can have several rows.
    private static let customersView = """
        CREATE VIEW customers AS
        SELECT c.migration, c.key AS customer, s.bundleId, coalesce(c.environment, s.environment) AS environment,
            CASE c.state WHEN 1 THEN 'migrated' WHEN 2 THEN 'notFound' WHEN 3 THEN 'failed' ELSE 'decoded' END AS outcome,
            c.reason,
            (SELECT coalesce(json_agg(i.identifier ORDER BY i.identifier), '[]')::text FROM migrationIdentifier i
                WHERE i.customer = c.key AND i.identifier !~ '^[a-z]+:') AS identifiers,
            (SELECT count(*) FROM results r WHERE r.customer = c.key) AS rows,
            c.expires AS expiresDate, r.appAppleId, r.transactions, r.subscriptions, r.signedTransactions, r.revision,
            r.appTransaction
        FROM migrationCustomer c JOIN migrationScope s ON s.id = c.scope
        LEFT JOIN LATERAL (SELECT * FROM results r WHERE r.customer = c.key ORDER BY r.chunk, r.row LIMIT 1) r ON true
        """

    /// Creates the tables, unless they exist. Workers that start at the same time wait for each other.
    func createTables() async throws(RunError) {
        for attempt in 1... {
            if try await hasTables() { return }
            let error: PostgreSQLError
            do throws(PostgreSQLError) {
                _ = try await client.run(Self.tables.map { PostgreSQLQuery($0) }, within: Self.limit)
                return
            } catch let caught {
                error = caught
            }
            guard attempt < Self.attempts else {
                guard error.sqlState == "42P07" else { throw runError(error) }
                throw .notPossible(
                    "the database \(place) has a table of another program: \(error.reason). Use a schema of its own")
            }
            // Another worker may be creating them.
            try? await Task.sleep(for: .milliseconds(Int.random(in: 50...300)))
        }
    }

    /// Creates the views of ``FlatTable``, unless there are relations of these names: the views, or tables of another
    /// program, which stay.
    func createViews() async throws(RunError) {
        for table in FlatTable.allCases {
            let found = try await rows("SELECT count(to_regclass('\(table.rawValue)'))") { try $0.integer(0) }
            guard found.first == 0 else { continue }
            // Another worker may be creating it, or the user may not create views: nothing depends on them.
            _ = try? await client.run([PostgreSQLQuery(table.postgresqlView)], within: Self.limit)
        }
    }

    private func hasTables() async throws(RunError) -> Bool {
        let query = PostgreSQLQuery("SELECT max(version) FROM migrationLayout")
        let found: Int64? = try await on {
            do throws(PostgreSQLError) {
                return try await client.query(query, within: Self.limit).rows.first?.optionalInteger(0)
            } catch {
                guard error.code == .missing else { throw error }
                return nil
            }
        }
        guard let version = found else { return false }
        guard version <= Self.version else {
            throw .notPossible("a newer version of receipt-bridge created the tables in the database \(place)")
        }
        return true
    }
}

extension ResultColumn {
    /// The columns in a database, in which ids are as in the source and the key says which row it is.
    static let shared = all(withAPI: true, withSource: false)

    /// The SQL type. Arrays and objects are JSON text.
    fileprivate var type: String {
        switch self {
        case .verified: "boolean NOT NULL"
        case .appAppleId: "bigint"
        case .id, .outcome, .kind: "text NOT NULL"
        default: "text"
        }
    }

    /// The value for COPY. PostgreSQL's text cannot contain U+0000, which becomes U+FFFD.
    func databaseValue(of row: ResultRow) -> PostgreSQLValue {
        switch value(of: row) {
        case .null: .null
        case .text(let text): .text(text.withoutNull)
        case .number(let number): .integer(number)
        case .flag(let flag): .boolean(flag)
        case .texts(let texts): .text(String(decoding: JSONWriter.array(texts), as: UTF8.self).withoutNull)
        case .json(let bytes): .text(String(decoding: bytes, as: UTF8.self).withoutNull)
        }
    }
}
