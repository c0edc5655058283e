import Base
import PostgreSQLClient

/// Customers that several workers find in their chunks.
///
/// A customer has the key that the first transaction with one of its identifiers gave it, because identifiers are
/// unique. A transaction that finds two keys for the ids of one row notes that they are the same; ``resolve(_:)``
/// merges them after the last chunk. So no transaction changes the rows of another one, and transactions insert
/// identifiers in one order and change customers in one order afterwards.
extension MigrationDatabase {
    /// Returns the row id of an app in one environment. Inserts a missing row.
    func scope(_ bundleId: String, _ environment: String) async throws(RunError) -> Int64 {
        let arguments: [PostgreSQLValue] = [.text(bundleId.withoutNull), .text(environment.withoutNull)]
        let ids = try await rows([
            PostgreSQLQuery(
                "INSERT INTO migrationScope (bundleId, environment) VALUES ($1, $2) ON CONFLICT DO NOTHING", arguments),
            PostgreSQLQuery("SELECT id FROM migrationScope WHERE bundleId = $1 AND environment = $2", arguments),
        ]) { try $0.integer(0) }
        guard let id = ids.first else { throw .interrupted("the database \(place): the row of an app cannot be read") }
        return id
    }

    /// Stores the customers of a chunk.
    ///
    /// - Returns: The key of each group.
    func store(
        _ groups: [ChunkCustomers.Group], of migration: Int64, in transaction: PostgreSQLTransaction
    ) async throws -> [Int64] {
        guard !groups.isEmpty else { return [] }
        let newKeys = try await transaction.query(
            PostgreSQLQuery(
                "SELECT nextval('migrationCustomerKey') FROM generate_series(1, $1::bigint)",
                [.integer(Int64(groups.count))])
        ).rows.map { try $0.integer(0) }
        let entries = groups.indices.flatMap { index in groups[index].identifiers.map { (index, $0) } }
        let identifiers: [PostgreSQLValue] = [
            .integer(migration), .integers(entries.map { groups[$0.0].scope }), .texts(entries.map(\.1)),
        ]
        _ = try await transaction.query(
            PostgreSQLQuery(
                """
                INSERT INTO migrationIdentifier (migration, scope, identifier, customer)
                SELECT $1, scope, identifier, customer
                FROM unnest($2::bigint[], $3::text[], $4::bigint[]) AS new (scope, identifier, customer)
                ORDER BY scope, identifier ON CONFLICT DO NOTHING
                """, identifiers + [.integers(entries.map { newKeys[$0.0] })]))
        // A statement of its own, because the insertion may have waited for another transaction.
        let found = try await transaction.query(
            PostgreSQLQuery(
                """
                SELECT new.place, known.customer
                FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS new (scope, identifier, place)
                JOIN migrationIdentifier known ON known.migration = $1 AND known.scope = new.scope
                    AND known.identifier = new.identifier
                """, identifiers))
        var known = [Set<Int64>](repeating: [], count: groups.count)
        for row in found.rows { known[entries[Int(try row.integer(0)) - 1].0].insert(try row.integer(1)) }
        let keys = zip(known, newKeys).map { $0.min() ?? $1 }
        let isNew = groups.indices.filter { known[$0].contains(newKeys[$0]) }
        let isKnown = groups.indices.filter { keys[$0] != newKeys[$0] && groups[$0].expires != nil }
        let aliases = groups.indices.flatMap { index in
            known[index].filter { $0 != keys[index] }.map { (low: keys[index], high: $0) }
        }
        var queries: [PostgreSQLQuery] = []
        if !isNew.isEmpty {
            queries.append(
                PostgreSQLQuery(
                    """
                    INSERT INTO migrationCustomer (key, migration, scope, root, expires, claims)
                    SELECT key, $1, scope, key, nullif(expires, \(Int64.min)), nullif(claims, '')
                    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS new (key, scope, expires, claims)
                    """,
                    [
                        .integer(migration), .integers(isNew.map { newKeys[$0] }),
                        .integers(isNew.map { groups[$0].scope }),
                        .integers(isNew.map { groups[$0].expires ?? .min }),
                        .texts(isNew.map { groups[$0].claims ?? "" }),
                    ]))
        }
        if !isKnown.isEmpty {
            queries += Self.update(isKnown.map { (keys[$0], groups[$0].expires ?? .min) })
        }
        if !aliases.isEmpty {
            queries.append(
                PostgreSQLQuery(
                    """
                    INSERT INTO migrationAlias (migration, low, high)
                    SELECT DISTINCT $1::bigint, low, high FROM unnest($2::bigint[], $3::bigint[]) AS new (low, high)
                    ORDER BY 2, 3 ON CONFLICT DO NOTHING
                    """, [.integer(migration), .integers(aliases.map(\.low)), .integers(aliases.map(\.high))]))
        }
        _ = try await transaction.run(queries)
        return keys
    }

    /// The statements that set later expiry dates.
    private static func update(_ dates: [(key: Int64, expires: Int64)]) -> [PostgreSQLQuery] {
        let keys = PostgreSQLValue.integers(dates.map(\.key))
        return [
            PostgreSQLQuery(
                "SELECT key FROM migrationCustomer WHERE key = ANY ($1::bigint[]) ORDER BY key FOR UPDATE", [keys]),
            PostgreSQLQuery(
                """
                UPDATE migrationCustomer SET expires = new.expires
                FROM (SELECT key, max(expires) AS expires FROM unnest($1::bigint[], $2::bigint[]) AS new (key, expires)
                    GROUP BY key) AS new
                WHERE migrationCustomer.key = new.key
                    AND (migrationCustomer.expires IS NULL OR migrationCustomer.expires < new.expires)
                """, [keys, .integers(dates.map(\.expires))]),
        ]
    }

    // MARK: Merging

    /// Returns whether the customers have been merged.
    func isResolved(_ migration: Int64) async throws(RunError) -> Bool {
        try await rows("SELECT isResolved FROM migration WHERE id = $1", [.integer(migration)]) {
            try $0.boolean(0)
        }.first ?? false
    }

    /// The lease of the merge has passed to another worker, whose merge counts.
    private struct LostLease: Error {}

    /// Merges the customers that are the same, after all chunks have ended. Changes nothing if the lease has passed to
    /// another worker.
    func resolve(_ lease: WorkLease) async throws(RunError) {
        let migration = PostgreSQLValue.integer(lease.migration)
        try await on {
            do {
                try await client.transaction(within: Self.longLimit) { transaction in
                    while try await transaction.query(Self.joinRoots(migration)).affectedRows > 0 {
                        while try await transaction.query(Self.shortenPaths(migration)).affectedRows > 0 {}
                    }
                    _ = try await transaction.run(Self.mergeStatements.map { PostgreSQLQuery($0, [migration]) })
                    let end = try await transaction.query(
                        PostgreSQLQuery(
                            "UPDATE migration SET isResolved = true WHERE id = $1 AND \(WorkLease.condition)",
                            lease.arguments))
                    guard end.affectedRows == 1 else { throw LostLease() }
                }
            } catch is LostLease {}
        }
    }

    /// Each customer with an alias gets the smallest root of its aliases.
    private static func joinRoots(_ migration: PostgreSQLValue) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            UPDATE migrationCustomer SET root = pair.low
            FROM (
                SELECT greatest(one.root, other.root) AS high, min(least(one.root, other.root)) AS low
                FROM migrationAlias alias JOIN migrationCustomer one ON one.key = alias.low
                    JOIN migrationCustomer other ON other.key = alias.high
                WHERE alias.migration = $1 AND one.root <> other.root GROUP BY 1) AS pair
            WHERE migrationCustomer.key = pair.high
            """, [migration])
    }

    private static func shortenPaths(_ migration: PostgreSQLValue) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            UPDATE migrationCustomer SET root = above.root FROM migrationCustomer above
            WHERE migrationCustomer.migration = $1 AND migrationCustomer.root <> migrationCustomer.key
                AND above.key = migrationCustomer.root AND above.root <> above.key
            """, [migration])
    }

    private static let mergeStatements = [
        """
        UPDATE migrationIdentifier SET customer = merged.root FROM migrationCustomer merged
        WHERE merged.migration = $1 AND merged.root <> merged.key AND migrationIdentifier.customer = merged.key
        """,
        """
        UPDATE results SET customer = merged.root FROM migrationCustomer merged
        WHERE merged.migration = $1 AND merged.root <> merged.key AND results.customer = merged.key
        """,
        """
        UPDATE migrationCustomer SET expires = greatest(migrationCustomer.expires, merged.expires)
        FROM (SELECT root, max(expires) AS expires FROM migrationCustomer
            WHERE migration = $1 AND root <> key GROUP BY root) AS merged
        WHERE migrationCustomer.key = merged.root AND merged.expires IS NOT NULL
        """,
        "DELETE FROM migrationCustomer WHERE migration = $1 AND root <> key",
        "DELETE FROM migrationAlias WHERE migration = $1",
    ]
}
