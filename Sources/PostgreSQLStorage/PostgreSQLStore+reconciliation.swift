import Base
import PostgreSQLClient
import Storage

/// The ends of subscriptions, and the state of the last reconciliation.
extension PostgreSQLStore: ReconciliationStore {
    /// - `transactionRecord.expiresDate`: ``TransactionRow/expiresColumn``; null for a row of an earlier version.
    /// - `reconciliation`: one row, the ``ReconciliationRow`` of the last reconciliation.
    static let reconciliationStep = SchemaStep(
        "reconciliation",
        [
            "ALTER TABLE transactionRecord ADD COLUMN expiresDate bigint",
            "CREATE INDEX transactionByExpiry ON transactionRecord (expiresDate, id) WHERE expiresDate > 0",
            "CREATE INDEX transactionWithoutExpiry ON transactionRecord (id) WHERE expiresDate IS NULL",
            """
            CREATE TABLE reconciliation (
                id bigint PRIMARY KEY, startedAt bigint NOT NULL, endedAt bigint, continuesAt bigint,
                windowSeconds bigint NOT NULL, notifications bigint NOT NULL, customers bigint NOT NULL, different bigint NOT NULL,
                refunds bigint NOT NULL, failed bigint NOT NULL)
            """,
        ])
}
