package import Storage
import GRDB
package import AppStoreTypes

/// Queries of single rows.
extension SQLiteStore {
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

extension SQLiteStore {
    /// Returns earlier signed notifications about the same purchase, the most recently signed first.
    ///
    /// - Parameters:
    ///   - id: row id of the notification, as in ``StoredDelivery/notification``.
    ///   - type: only notifications of this type; `nil` for all.
    package func previousNotifications(
        of id: Int64, type: String? = nil, limit: Int
    ) async throws(StorageError) -> [PreviousNotification] {
        try await read { db in
            let find = try db.cachedStatement(
                sql: """
                    SELECT old.type, old.signedDate, old.text FROM notification AS new
                    JOIN notification AS old ON old.originalTransactionId = new.originalTransactionId
                    AND old.app = new.app AND old.id < new.id AND old.version = 2
                    WHERE new.id = ?1 AND (?2 IS NULL OR old.type = ?2)
                    ORDER BY coalesce(old.signedDate, old.receivedAt) DESC, old.id DESC LIMIT ?3
                    """)
            return try Row.fetchAll(find, arguments: [id, type, limit]).map {
                PreviousNotification(
                    type: $0[0], signedDate: ($0[1] as Int64?).map(Timestamp.init(milliseconds:)),
                    text: try self.text($0[2], in: db))
            }
        }
    }
}
