import AppStoreTypes
import Foundation
import GRDB
import SQLiteFiles
package import Storage

/// Reading stored notifications, for people.
extension SQLiteStore {
    /// The columns of a ``NotificationSummary``.
    private static let summary = """
        notification.id, uuid, version, type, subtype, bundleId, environment, signedDate, receivedAt,
        originalTransactionId
        """

    package func notification(_ uuid: String) async throws(StorageError) -> StoredNotification? {
        try await read { db in
            let row = try db.row(
                """
                SELECT \(Self.summary), text, body FROM notification JOIN app ON app.id = notification.app
                LEFT JOIN unusualBody ON unusualBody.notification = notification.id WHERE uuid = ?
                """, [uuid])
            guard let row, let summary = try Self.summary(row) else { return nil }
            return StoredNotification(
                summary: summary, text: try self.text(row, 10, in: db), rawBody: try row.optionalBytes(11))
        }
    }

    package func notifications(
        matching filter: NotificationFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [NotificationSummary] {
        try await read { db in
            try self.page(after: id, limit: limit) {
                try db.rows(
                    """
                    SELECT \(Self.summary) FROM notification JOIN app ON app.id = notification.app
                    WHERE notification.id > ?1 AND version > 0 AND (?2 IS NULL OR bundleId = ?2) AND (?3 IS NULL OR environment = ?3)
                        AND (?4 IS NULL OR type = ?4) AND receivedAt >= ?5
                        \(filter.purchases == nil ? "" : "AND originalTransactionId IN (SELECT value FROM json_each(?7))")
                    ORDER BY notification.id LIMIT ?6
                    """,
                    [
                        $0, filter.bundleId?.rawValue, filter.environment?.rawValue, filter.type,
                        filter.since?.milliseconds ?? .min, limit,
                    ] + (filter.purchases.map { [Self.list($0)] } ?? []))
            } _: {
                try Self.summary($0)
            }
        }
    }

    private static func summary(_ row: SQLiteRow) throws(DamagedValue) -> NotificationSummary? {
        guard let scope = try row.scope(5, 6) else { return nil }
        return NotificationSummary(
            id: try row.integer(0), uuid: try row.text(1), version: Int(try row.integer(2)),
            type: try row.optionalText(3), subtype: try row.optionalText(4), scope: scope,
            signedDate: try row.optionalTimestamp(7), receivedAt: try row.timestamp(8),
            originalTransactionId: try row.optionalText(9))
    }
}
