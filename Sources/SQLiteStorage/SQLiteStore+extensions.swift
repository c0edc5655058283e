package import Storage
import GRDB
import SQLiteFiles
package import AppStoreTypes

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

    /// Stores an extension. A request that is already stored is ignored.
    package func save(_ row: ExtensionRow, of scope: AppScope) async throws(StorageError) {
        try await write { db in
            let app = try Self.appID(of: scope, in: db)
            try db.execute(
                sql: "INSERT OR IGNORE INTO renewalExtension VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    app, row.originalTransactionId, row.requestIdentifier, row.days, row.reason,
                    row.extendedAt.milliseconds, row.effectiveDate?.milliseconds,
                ])
        }
    }

    /// Returns the extensions of one subscription, the oldest first.
    package func extensions(
        of originalTransactionId: TransactionIdentifier, in scope: AppScope
    ) async throws(StorageError) -> [ExtensionRow] {
        try await read { db in
            // An extension that cannot be read must not look like one that was never made.
            try db.rows(
                """
                SELECT requestIdentifier, days, reason, extendedAt, effectiveDate
                FROM renewalExtension JOIN app ON app.id = renewalExtension.app
                WHERE originalTransactionId = ? AND bundleId = ? AND environment = ? ORDER BY extendedAt
                """, [originalTransactionId.rawValue, scope.bundleId.rawValue, scope.environment.rawValue]
            ).map { row in
                ExtensionRow(
                    originalTransactionId: originalTransactionId.rawValue, requestIdentifier: try row.text(0),
                    days: Int(try row.integer(1)), reason: try row.integer(2), extendedAt: try row.timestamp(3),
                    effectiveDate: try row.optionalTimestamp(4))
            }
        }
    }
}
