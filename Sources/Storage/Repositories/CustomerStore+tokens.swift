import ReceiptBridgeBase

/// Account tokens of transactions. The column is empty for a transaction without a token, and null for one that an
/// earlier version stored.
extension CustomerStore {
    /// Returns the customers with a transaction that has this account token, a UUID in lower case. A transaction whose
    /// customer is not known counts as one.
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

    /// Returns transactions whose account token is not stored separately, because an earlier version stored them.
    package func transactionsWithoutToken(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await transactions(without: "appAccountToken", limit: limit)
    }

    /// Stores the account tokens of such transactions; an empty text for a transaction without one.
    package func addTokens(_ tokens: [(id: Int64, token: String)]) async throws(StorageError) {
        try await fill("appAccountToken", of: tokens.map(\.id), with: .texts(tokens.map(\.token)))
    }
}

/// Columns of transactions that an earlier version did not fill.
extension SQLEngine {
    func transactions(without column: String, limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await page(after: .min, limit: limit) { id in
            SQLStatement(
                "SELECT id, text FROM transactionRecord WHERE \(column) IS NULL AND id > $1 ORDER BY id LIMIT $2",
                .integer(id), .integer(Int64(limit)))
        } _: { (row) throws(StorageError) in
            (try row.rowID(0), try row.signedText(1))
        }
    }

    /// Fills a column with the values of an array. Rows that another transaction has locked are left for the next call,
    /// so that this never waits while it holds locks.
    func fill(_ column: String, of ids: [Int64], with values: SQLValue) async throws(StorageError) {
        try await write([
            SQLStatement(
                """
                UPDATE transactionRecord SET \(column) = new.filled
                FROM \(dialect.rows([("id", "$1"), ("filled", "$2")], as: "new"))
                WHERE transactionRecord.id = new.id AND transactionRecord.id IN (
                    SELECT id FROM transactionRecord WHERE \(dialect.isAny("id", "$1")) AND \(column) IS NULL
                    ORDER BY id \(dialect.lockingFree))
                """, .integers(ids), values)
        ])
    }
}
