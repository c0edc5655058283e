import Base
import GRDB

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
}
