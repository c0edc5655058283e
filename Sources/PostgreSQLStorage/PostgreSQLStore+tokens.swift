import Base
import PostgreSQLClient
import Storage

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
}
