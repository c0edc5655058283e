package import Base

/// Extensions of renewal dates, of which Apple allows a limited number.
package protocol ExtensionLog: SQLEngine {}

extension ExtensionLog {
    /// Stores an extension. A request that is already stored is ignored.
    package func save(_ row: ExtensionRow, of scope: AppScope) async throws(StorageError) {
        let app = try await appID(of: scope)
        try await write([
            SQLStatement(
                """
                INSERT INTO renewalExtension
                (app, originalTransactionId, requestIdentifier, days, reason, extendedAt, effectiveDate)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                ON CONFLICT (originalTransactionId, app, requestIdentifier) DO NOTHING
                """,
                .integer(app), .text(row.originalTransactionId), .text(row.requestIdentifier),
                .integer(Int64(row.days)), .integer(row.reason), SQLValue(row.extendedAt),
                row.effectiveDate.map(SQLValue.init))
        ])
    }

    /// Returns the extensions of one subscription, the oldest first.
    /// An extension that cannot be read throws, because it must not look like one that was never made.
    package func extensions(
        of originalTransactionId: TransactionIdentifier, in scope: AppScope
    ) async throws(StorageError) -> [ExtensionRow] {
        try await read(
            SQLStatement(
                """
                SELECT requestIdentifier, days, reason, extendedAt, effectiveDate
                FROM renewalExtension JOIN app ON app.id = renewalExtension.app
                WHERE originalTransactionId = $1 AND bundleId = $2 AND environment = $3
                ORDER BY extendedAt, requestIdentifier
                """,
                .text(originalTransactionId.rawValue), .text(scope.bundleId.rawValue),
                .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in
            ExtensionRow(
                originalTransactionId: originalTransactionId.rawValue, requestIdentifier: try row.text(0),
                days: try row.count(1), reason: try row.integer(2), extendedAt: try row.timestamp(3),
                effectiveDate: try row.optionalTimestamp(4))
        }
    }
}
