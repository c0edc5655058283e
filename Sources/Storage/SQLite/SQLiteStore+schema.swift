import Base
import GRDB

extension SQLiteStore {
    /// Database schema: creates the tables of notifications and customers, and of the records that notifications and
    /// lookups bring.
    ///
    /// A record is one JWS and its date of signing. A `customer` groups the records of one history. Records whose
    /// customer is unknown have none until a lookup assigns one.
    ///
    /// - `app`: an app in one environment (``AppScope``).
    /// - `notification`: received notifications (``NotificationRow``).
    /// - `customer`: a customer, and when the history was last looked up. `needsLookupSince` is set while the
    ///   customer is stale.
    /// - `companion`: aliases, that is, identifiers of the customer's receipts that are not in the history.
    /// - `transactionRecord`: the most recently signed version of each transaction. `place` is the position in the
    ///   history.
    /// - `supersededTransaction`: replaced versions of transactions.
    /// - `subscription`: status and renewal info. Each has its own date, and the later one is stored.
    /// - `revocation`: revoked purchases.
    /// - `learntIdentifiers`: customer identifiers of receipts without a purchase.
    static func addCustomers(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE app (
                    id INTEGER PRIMARY KEY, bundleId TEXT NOT NULL, environment TEXT NOT NULL,
                    UNIQUE (bundleId, environment));
                CREATE TABLE notification (
                    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, type TEXT,
                    subtype TEXT, app INTEGER NOT NULL REFERENCES app (id), signedDate INTEGER,
                    receivedAt INTEGER NOT NULL, originalTransactionId TEXT, text TEXT NOT NULL);
                CREATE INDEX notificationByOriginal ON notification (originalTransactionId, app)
                    WHERE originalTransactionId IS NOT NULL;
                CREATE TABLE customer (
                    id INTEGER PRIMARY KEY, app INTEGER NOT NULL REFERENCES app (id), askedAt INTEGER NOT NULL,
                    appAppleId INTEGER, revision TEXT, needsLookupSince INTEGER);
                CREATE TABLE companion (
                    customer INTEGER NOT NULL REFERENCES customer (id) ON DELETE CASCADE, identifier TEXT NOT NULL,
                    PRIMARY KEY (customer, identifier)) WITHOUT ROWID;
                CREATE TABLE transactionRecord (
                    id INTEGER PRIMARY KEY, app INTEGER NOT NULL REFERENCES app (id), transactionId TEXT NOT NULL,
                    originalTransactionId TEXT NOT NULL, appTransactionId TEXT,
                    customer INTEGER REFERENCES customer (id) ON DELETE SET NULL, place INTEGER NOT NULL,
                    signedDate INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (transactionId, app));
                CREATE INDEX transactionByOriginal ON transactionRecord (originalTransactionId, app);
                CREATE INDEX transactionByDownload ON transactionRecord (appTransactionId, app)
                    WHERE appTransactionId IS NOT NULL;
                CREATE INDEX transactionByCustomer ON transactionRecord (customer, place);
                CREATE TABLE supersededTransaction (
                    app INTEGER NOT NULL REFERENCES app (id), transactionId TEXT NOT NULL, signedDate INTEGER NOT NULL,
                    text TEXT NOT NULL);
                CREATE INDEX supersededById ON supersededTransaction (transactionId, app);
                CREATE TABLE subscription (
                    id INTEGER PRIMARY KEY, app INTEGER NOT NULL REFERENCES app (id),
                    originalTransactionId TEXT NOT NULL, place INTEGER NOT NULL,
                    status INTEGER, statusClock INTEGER NOT NULL, subscriptionGroupIdentifier TEXT,
                    renewal TEXT, renewalClock INTEGER NOT NULL, UNIQUE (originalTransactionId, app));
                CREATE TABLE revocation (
                    app INTEGER NOT NULL REFERENCES app (id), transactionId TEXT NOT NULL, webOrderLineItemId TEXT,
                    date INTEGER NOT NULL, reason INTEGER, signedDate INTEGER,
                    PRIMARY KEY (transactionId, app)) WITHOUT ROWID;
                CREATE TABLE learntIdentifiers (
                    receipt BLOB PRIMARY KEY, learntAt INTEGER NOT NULL, originals TEXT NOT NULL, others TEXT NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX learntByDate ON learntIdentifiers (learntAt);
                """)
    }

    /// An index for erasures, which find customers by an alias too.
    static func addCompanionIndex(_ db: Database) throws {
        try db.execute(sql: "CREATE INDEX companionByIdentifier ON companion (identifier)")
    }

    /// Returns the row id of an app in one environment. Inserts a missing row.
    static func appID(of scope: AppScope, in db: Database) throws -> Int64 {
        if let id = try existingAppID(of: scope, in: db) { return id }
        try db.cachedStatement(sql: "INSERT INTO app (bundleId, environment) VALUES (?, ?)").execute(
            arguments: [scope.bundleId.rawValue, scope.environment.rawValue])
        return db.lastInsertedRowID
    }

    /// Returns the row id of an app in one environment, or `nil` if the store has no data of it.
    static func existingAppID(of scope: AppScope, in db: Database) throws -> Int64? {
        try db.integer(
            "SELECT id FROM app WHERE bundleId = ? AND environment = ?",
            [scope.bundleId.rawValue, scope.environment.rawValue])
    }
}
