import GRDB
package import StoreTypes

/// Queries of single rows.
extension Store {
    /// Returns whether a notification with this UUID is stored.
    package func holdsNotification(_ uuid: String) async throws(StorageError) -> Bool {
        try await read { db in
            try Int.fetchOne(db, sql: "SELECT 1 FROM notification WHERE uuid = ?", arguments: [uuid]) != nil
        }
    }

    /// Returns the most recently signed version of a transaction as compact JWS, or `nil` if there is none.
    package func transaction(
        _ id: TransactionIdentifier, in scope: AppScope
    ) async throws(StorageError) -> String? {
        try await read { db in
            try EncodedJWS.fetchOne(
                db,
                sql: """
                    SELECT text FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                    WHERE transactionId = ? AND bundleId = ? AND environment = ?
                    """, arguments: [id.rawValue, scope.bundleId.rawValue, scope.environment.rawValue]
            ).map { try self.text($0, in: db) }
        }
    }

    /// Returns version 2 notifications of one type about a purchase, the latest first, each with the time of receipt.
    ///
    /// - Parameter originalTransactionId: of the purchase.
    package func notifications(
        _ type: String, about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [(text: String, receivedAt: Timestamp)] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT text, receivedAt FROM notification JOIN app ON app.id = notification.app
                    WHERE type = ? AND originalTransactionId = ? AND bundleId = ? AND environment = ? AND version = 2
                    ORDER BY coalesce(signedDate, receivedAt) DESC
                    """,
                arguments: [type, originalTransactionId, scope.bundleId.rawValue, scope.environment.rawValue])
            return try rows.map {
                (try self.text($0[0], in: db), Timestamp(milliseconds: $0[1]))
            }
        }
    }
}
