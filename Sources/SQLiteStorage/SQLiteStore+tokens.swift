import AppStoreTypes
import GRDB
package import Storage

/// Account tokens of transactions. The column is empty for a transaction without a token, and null for one that an
/// earlier version stored.
extension SQLiteStore {
    /// Adds the column and its indexes.
    static func addAccountTokens(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE transactionRecord ADD COLUMN appAccountToken TEXT;
                CREATE INDEX transactionByToken ON transactionRecord (appAccountToken)
                    WHERE appAccountToken IS NOT NULL AND appAccountToken <> '';
                CREATE INDEX transactionWithoutToken ON transactionRecord (id) WHERE appAccountToken IS NULL;
                """)
    }

    package func customers(withToken token: String, limit: Int) async throws(StorageError) -> [TokenCustomer] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT bundleId, environment, min(originalTransactionId)
                    FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                    WHERE appAccountToken = ? AND appAccountToken IS NOT NULL AND appAccountToken <> ''
                    GROUP BY bundleId, environment, coalesce('c' || customer, originalTransactionId)
                    ORDER BY bundleId, environment, 3 LIMIT ?
                    """, arguments: [token, limit]
            ).compactMap { row in
                guard let bundleId = BundleIdentifier(rawValue: row[0]),
                    let environment = AppStoreEnvironment(rawValue: row[1]),
                    let identifier = TransactionIdentifier(rawValue: row[2])
                else { return nil }
                return TokenCustomer(
                    scope: AppScope(bundleId: bundleId, environment: environment), identifier: identifier)
            }
        }
    }

    package func transactionsWithoutToken(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT id, text FROM transactionRecord WHERE appAccountToken IS NULL ORDER BY id LIMIT ?",
                arguments: [limit]
            ).map { ($0[0], try self.text($0[1], in: db)) }
        }
    }

    package func addTokens(_ tokens: [(id: Int64, token: String)]) async throws(StorageError) {
        try await write { db in
            let update = try db.cachedStatement(
                sql: "UPDATE transactionRecord SET appAccountToken = ? WHERE id = ? AND appAccountToken IS NULL")
            for (id, token) in tokens { try update.execute(arguments: [token, id]) }
        }
    }
}
