import Base
import GRDB

extension SQLiteStore: ExtensionLog {
    /// Creates the table of renewal date extensions.
    static func addExtensions(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE renewalExtension (
                    app INTEGER NOT NULL REFERENCES app (id), originalTransactionId TEXT NOT NULL,
                    requestIdentifier TEXT NOT NULL, days INTEGER NOT NULL, reason INTEGER NOT NULL,
                    extendedAt INTEGER NOT NULL, effectiveDate INTEGER,
                    PRIMARY KEY (originalTransactionId, app, requestIdentifier)) WITHOUT ROWID;
                """)
    }
}
