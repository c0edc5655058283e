import AppStoreTypes
import GRDB
import SQLiteFiles
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
            let rows = try db.rows(
                """
                SELECT bundleId, environment, min(originalTransactionId)
                FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                WHERE appAccountToken = ? AND appAccountToken IS NOT NULL AND appAccountToken <> ''
                GROUP BY bundleId, environment, coalesce('c' || customer, originalTransactionId)
                ORDER BY bundleId, environment, 3 LIMIT ?
                """, [token, limit])
            return try self.intact(rows) { row in
                guard let scope = try row.scope(0, 1),
                    let identifier = TransactionIdentifier(rawValue: try row.text(2))
                else { return nil }
                return TokenCustomer(scope: scope, identifier: identifier)
            }
        }
    }

    package func transactionsWithoutToken(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await read { db in
            try self.page(after: .min, limit: limit) {
                try db.rows(
                    """
                    SELECT id, text FROM transactionRecord WHERE appAccountToken IS NULL AND id > ? ORDER BY id LIMIT ?
                    """, [$0, limit])
            } _: {
                (try $0.integer(0), try self.text($0, 1, in: db))
            }
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
