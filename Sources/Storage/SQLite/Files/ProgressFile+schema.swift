import GRDB

/// The schema of progress files.
extension ProgressFile {
    /// The tables of all commands. Only a migration uses more than `state`.
    ///
    /// - `state`: checkpoint and other values, by key.
    /// - `refusal`, `refusalReason`: refused rows.
    /// - `scope`: an app in one environment.
    /// - `customer`: a customer and the result of the lookup. `state` is 0 pending, 1 found, 2 not found, 3 failed.
    ///   `claims` is set only for customers of rows that are not authentic. `appTransactionId` is set only for
    ///   customers of signed app transactions, which have no transaction ids; `appTransaction` is their download.
    ///   `tokens` is 0 if the rows have no account token, 1 if they have one, 2 if they have different ones.
    ///   `tokenState` is `set` once the token is set on the purchases, or the reason why that failed.
    /// - `identifier`: assigns transaction ids to customers.
    /// - `staged`: decoded rows that wait for a lookup.
    private static let tables = """
        CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        \(refusalTables)
        CREATE TABLE scope (
            key INTEGER PRIMARY KEY, bundleId TEXT NOT NULL, environment TEXT NOT NULL,
            UNIQUE (bundleId, environment));
        CREATE TABLE customer (
            key INTEGER PRIMARY KEY, scope INTEGER NOT NULL, claims TEXT,
            state INTEGER NOT NULL DEFAULT 0, reason TEXT,
            accountToken TEXT, tokens INTEGER NOT NULL DEFAULT 0, tokenState TEXT,
            environment TEXT, appAppleId INTEGER, transactions BLOB, subscriptions BLOB,
            signedTransactions BLOB, revision TEXT, appTransactionId TEXT, appTransaction BLOB);
        CREATE INDEX customerByState ON customer (state, scope, key);
        CREATE UNIQUE INDEX customerByClaims ON customer (scope, claims) WHERE claims IS NOT NULL;
        \(downloadIndex)
        CREATE TABLE identifier (
            scope INTEGER NOT NULL, identifier TEXT NOT NULL, customer INTEGER NOT NULL,
            PRIMARY KEY (scope, identifier)) WITHOUT ROWID;
        CREATE INDEX identifierByCustomer ON identifier (customer);
        CREATE TABLE staged (
            row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, customer INTEGER, result BLOB NOT NULL);
        CREATE INDEX stagedByCustomer ON staged (customer) WHERE customer IS NOT NULL;
        """

    /// Creates the tables in a new file.
    static func prepare(_ db: Database) throws { try db.execute(sql: tables) }

    /// Many rows are refused for the same few reasons. Each reason is stored once, so a refused row takes 25 bytes
    /// instead of 100.
    private static let refusalTables = """
        CREATE TABLE refusalReason (
            key INTEGER PRIMARY KEY, code TEXT NOT NULL, place BLOB NOT NULL, reason BLOB NOT NULL,
            UNIQUE (code, place, reason));
        CREATE TABLE refusal (row INTEGER PRIMARY KEY, id BLOB NOT NULL, reason INTEGER NOT NULL);
        """

    private static let downloadIndex = """
        CREATE UNIQUE INDEX customerByDownload ON customer (scope, appTransactionId) WHERE appTransactionId IS NOT NULL;
        """

    /// Migrates the tables of schema version 3, which had no customers of signed app transactions.
    static func addDownloads(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE customer ADD COLUMN appTransactionId TEXT;
                ALTER TABLE customer ADD COLUMN appTransaction BLOB;
                \(downloadIndex)
                """)
    }

    /// Migrates the tables of schema version 2, which stored the reason with each row.
    static func separateReasons(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE refusal RENAME TO wholeRefusal;
                \(refusalTables)
                INSERT INTO refusalReason (code, place, reason) SELECT DISTINCT code, place, reason FROM wholeRefusal;
                INSERT INTO refusal SELECT row, id, key FROM wholeRefusal JOIN refusalReason USING (code, place, reason);
                DROP TABLE wholeRefusal;
                """)
    }
}
