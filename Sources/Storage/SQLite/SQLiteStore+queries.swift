package import Base
import GRDB

/// Queries of single rows.
extension SQLiteStore {
    /// Returns whether a notification with this UUID is stored.
    package func holdsNotification(_ uuid: String) async throws(StorageError) -> Bool {
        try await read { db in
            try db.exists("SELECT 1 FROM notification WHERE uuid = ?", [uuid])
        }
    }

    /// Returns version 2 notifications of one type about a purchase, the latest first, each with the time of receipt.
    ///
    /// - Parameter originalTransactionId: of the purchase.
    package func notifications(
        _ type: String, about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [(text: String, receivedAt: Timestamp)] {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT text, receivedAt FROM notification JOIN app ON app.id = notification.app
                WHERE type = ? AND originalTransactionId = ? AND bundleId = ? AND environment = ? AND version = 2
                ORDER BY coalesce(signedDate, receivedAt) DESC
                """, [type, originalTransactionId, scope.bundleId.rawValue, scope.environment.rawValue])
            return try self.intact(rows) { (try self.text($0, 0, in: db), try $0.timestamp(1)) }
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
            let rows = try db.rows(
                """
                SELECT old.type, old.signedDate, old.text FROM notification AS new
                JOIN notification AS old ON old.originalTransactionId = new.originalTransactionId
                AND old.app = new.app AND old.id < new.id AND old.version = 2
                WHERE new.id = ?1 AND (?2 IS NULL OR old.type = ?2)
                ORDER BY coalesce(old.signedDate, old.receivedAt) DESC, old.id DESC LIMIT ?3
                """, [id, type, limit])
            return try self.intact(rows) {
                PreviousNotification(
                    type: try $0.optionalText(0), signedDate: try $0.optionalTimestamp(1),
                    text: try self.text($0, 2, in: db))
            }
        }
    }
}
