import AppStoreTypes
import PostgreSQLClient
package import Storage

/// Account tokens of transactions. The column is empty for a transaction without a token, and null for one that an
/// earlier version stored.
extension PostgreSQLStore {
    /// The column and its indexes.
    static let accountTokensStep = SchemaStep(
        "accountTokens",
        [
            "ALTER TABLE transactionRecord ADD COLUMN appAccountToken text",
            """
            CREATE INDEX transactionByToken ON transactionRecord (appAccountToken)
                WHERE appAccountToken IS NOT NULL AND appAccountToken <> ''
            """,
            "CREATE INDEX transactionWithoutToken ON transactionRecord (id) WHERE appAccountToken IS NULL",
        ])

    package func customers(withToken token: String, limit: Int) async throws(StorageError) -> [TokenCustomer] {
        let rows = try await read(
            """
            SELECT bundleId, environment, min(originalTransactionId)
            FROM transactionRecord JOIN app ON app.id = transactionRecord.app
            WHERE appAccountToken = $1 AND appAccountToken IS NOT NULL AND appAccountToken <> ''
            GROUP BY bundleId, environment, coalesce('c' || customer, originalTransactionId)
            ORDER BY bundleId, environment, 3 LIMIT $2
            """, [.text(token), .integer(Int64(limit))])
        return try value { () throws(PostgreSQLError) in
            var customers: [TokenCustomer] = []
            for row in rows {
                guard let scope = try row.scope(0, 1), let identifier = TransactionIdentifier(rawValue: try row.text(2))
                else { continue }
                customers.append(TokenCustomer(scope: scope, identifier: identifier))
            }
            return customers
        }
    }

    package func transactionsWithoutToken(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        let rows = try await read(
            "SELECT id, text FROM transactionRecord WHERE appAccountToken IS NULL ORDER BY id LIMIT $1",
            [.integer(Int64(limit))])
        let found = try value { () throws(PostgreSQLError) in
            try rows.map { row throws(PostgreSQLError) in (try row.integer(0), try row.jws(1)) }
        }
        return Array(zip(found.map(\.0), try await texts(found.map(\.1))))
    }

    /// Rows that another transaction has locked are left for the next call, so that this never waits while it holds
    /// locks.
    package func addTokens(_ tokens: [(id: Int64, token: String)]) async throws(StorageError) {
        try await write([
            PostgreSQLQuery(
                """
                UPDATE transactionRecord SET appAccountToken = new.token
                FROM unnest($1::bigint[], $2::text[]) AS new (id, token)
                WHERE transactionRecord.id = new.id AND transactionRecord.id IN (
                    SELECT id FROM transactionRecord WHERE id = ANY ($1::bigint[]) AND appAccountToken IS NULL
                    ORDER BY id FOR UPDATE SKIP LOCKED)
                """, [.integers(tokens.map(\.id)), .texts(tokens.map(\.token))])
        ])
    }
}
