package import Storage
import GRDB
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
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT requestIdentifier, days, reason, extendedAt, effectiveDate
                    FROM renewalExtension JOIN app ON app.id = renewalExtension.app
                    WHERE originalTransactionId = ? AND bundleId = ? AND environment = ? ORDER BY extendedAt
                    """,
                arguments: [originalTransactionId.rawValue, scope.bundleId.rawValue, scope.environment.rawValue])
            return rows.map { row in
                ExtensionRow(
                    originalTransactionId: originalTransactionId.rawValue, requestIdentifier: row[0], days: row[1],
                    reason: row[2], extendedAt: Timestamp(milliseconds: row[3]),
                    effectiveDate: (row[4] as Int64?).map(Timestamp.init(milliseconds:)))
            }
        }
    }
}
