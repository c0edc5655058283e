import Base

/// Account tokens of transactions. The column is empty for a transaction without a token, and null for one that an
/// earlier version stored.
extension CustomerStore where Self: SQLEngine {
    package func customers(withToken token: String, limit: Int) async throws(StorageError) -> [TokenCustomer] {
        try await readIntact(
            SQLStatement(
                """
                SELECT bundleId, environment, min(originalTransactionId)
                FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                WHERE appAccountToken = $1 AND appAccountToken IS NOT NULL AND appAccountToken <> ''
                GROUP BY bundleId, environment, coalesce('c' || customer, originalTransactionId)
                ORDER BY bundleId, environment, 3 LIMIT $2
                """, .text(token), .integer(Int64(limit)))
        ) { (row) throws(StorageError) in
            guard let scope = try row.scope(0, 1), let identifier = TransactionIdentifier(rawValue: try row.text(2))
            else { return nil }
            return TokenCustomer(scope: scope, identifier: identifier)
        }
    }

    package func transactionsWithoutToken(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await page(after: .min, limit: limit) { id in
            SQLStatement(
                "SELECT id, text FROM transactionRecord WHERE appAccountToken IS NULL AND id > $1 ORDER BY id LIMIT $2",
                .integer(id), .integer(Int64(limit)))
        } _: { (row) throws(StorageError) in
            (try row.integer(0), try row.signedText(1))
        }
    }

    /// Rows that another transaction has locked are left for the next call, so that this never waits while it holds
    /// locks.
    package func addTokens(_ tokens: [(id: Int64, token: String)]) async throws(StorageError) {
        try await write([
            SQLStatement(
                """
                UPDATE transactionRecord SET appAccountToken = new.token
                FROM \(dialect.rows([("id", "$1"), ("token", "$2")], as: "new"))
                WHERE transactionRecord.id = new.id AND transactionRecord.id IN (
                    SELECT id FROM transactionRecord WHERE \(dialect.isAny("id", "$1")) AND appAccountToken IS NULL
                    ORDER BY id \(dialect.lockingFree))
                """, .integers(tokens.map(\.id)), .texts(tokens.map(\.token)))
        ])
    }
}
