import Base
import GRDB

/// The ends of subscriptions, and the state of the last reconciliation.
extension SQLiteStore: ReconciliationStore {
    /// - `transactionRecord.expiresDate`: ``TransactionRow/expiresColumn``; null for a row of an earlier version.
    /// - `reconciliation`: one row, the ``ReconciliationRow`` of the last reconciliation.
    static func addReconciliation(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE transactionRecord ADD COLUMN expiresDate INTEGER;
                CREATE INDEX transactionByExpiry ON transactionRecord (expiresDate) WHERE expiresDate > 0;
                CREATE INDEX transactionWithoutExpiry ON transactionRecord (id) WHERE expiresDate IS NULL;
                CREATE TABLE reconciliation (
                    id INTEGER PRIMARY KEY, startedAt INTEGER NOT NULL, endedAt INTEGER, continuesAt INTEGER,
                    windowSeconds INTEGER NOT NULL, notifications INTEGER NOT NULL, customers INTEGER NOT NULL, different INTEGER NOT NULL,
                    refunds INTEGER NOT NULL, failed INTEGER NOT NULL);
                """)
    }
}
