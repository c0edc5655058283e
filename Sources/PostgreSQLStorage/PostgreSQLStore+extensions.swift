package import AppStoreTypes
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: ExtensionLog {
    /// The table of renewal date extensions.
    static let extensionsStep = SchemaStep(
        "extensions",
        [
            """
            CREATE TABLE renewalExtension (
                app bigint NOT NULL REFERENCES app (id), originalTransactionId text NOT NULL,
                requestIdentifier text NOT NULL, days bigint NOT NULL, reason bigint NOT NULL,
                extendedAt bigint NOT NULL, effectiveDate bigint,
                PRIMARY KEY (originalTransactionId, app, requestIdentifier))
            """
        ])

    package func save(_ row: ExtensionRow, of scope: AppScope) async throws(StorageError) {
        let app = try await appID(of: scope)
        try await write([
            PostgreSQLQuery(
                """
                INSERT INTO renewalExtension
                (app, originalTransactionId, requestIdentifier, days, reason, extendedAt, effectiveDate)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                ON CONFLICT (originalTransactionId, app, requestIdentifier) DO NOTHING
                """,
                [
                    .integer(app), .text(row.originalTransactionId), .text(row.requestIdentifier),
                    .integer(Int64(row.days)), .integer(row.reason), PostgreSQLValue(row.extendedAt),
                    PostgreSQLValue(row.effectiveDate),
                ])
        ])
    }

    package func extensions(
        of originalTransactionId: TransactionIdentifier, in scope: AppScope
    ) async throws(StorageError) -> [ExtensionRow] {
        let rows = try await read(
            """
            SELECT requestIdentifier, days, reason, extendedAt, effectiveDate
            FROM renewalExtension JOIN app ON app.id = renewalExtension.app
            WHERE originalTransactionId = $1 AND bundleId = $2 AND environment = $3
            ORDER BY extendedAt, requestIdentifier
            """,
            [
                .text(originalTransactionId.rawValue), .text(scope.bundleId.rawValue),
                .text(scope.environment.rawValue),
            ])
        return try value { () throws(PostgreSQLError) in
            try rows.map { row throws(PostgreSQLError) in
                ExtensionRow(
                    originalTransactionId: originalTransactionId.rawValue, requestIdentifier: try row.text(0),
                    days: Int(try row.integer(1)), reason: try row.integer(2), extendedAt: try row.timestamp(3),
                    effectiveDate: try row.optionalTimestamp(4))
            }
        }
    }
}
