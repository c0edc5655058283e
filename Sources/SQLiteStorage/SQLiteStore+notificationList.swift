import AppStoreTypes
import Foundation
import GRDB
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
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT \(Self.summary), text, body FROM notification JOIN app ON app.id = notification.app
                    LEFT JOIN unusualBody ON unusualBody.notification = notification.id WHERE uuid = ?
                    """, arguments: [uuid])
            guard let row, let summary = Self.summary(row) else { return nil }
            return StoredNotification(
                summary: summary, text: try self.text(row[10], in: db),
                rawBody: (row[11] as Data?).map { [UInt8]($0) })
        }
    }

    package func notifications(
        matching filter: NotificationFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [NotificationSummary] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(Self.summary) FROM notification JOIN app ON app.id = notification.app
                    WHERE notification.id > ?1 AND version > 0 AND (?2 IS NULL OR bundleId = ?2) AND (?3 IS NULL OR environment = ?3)
                        AND (?4 IS NULL OR type = ?4) AND receivedAt >= ?5
                        \(filter.purchases == nil ? "" : "AND originalTransactionId IN (SELECT value FROM json_each(?7))")
                    ORDER BY notification.id LIMIT ?6
                    """,
                arguments: [
                    id, filter.bundleId?.rawValue, filter.environment?.rawValue, filter.type,
                    filter.since?.milliseconds ?? .min, limit,
                ] + (filter.purchases.map { [Self.list($0)] } ?? [])
            ).compactMap(Self.summary)
        }
    }

    private static func summary(_ row: Row) -> NotificationSummary? {
        guard let bundleId = BundleIdentifier(rawValue: row[5]), let environment = AppStoreEnvironment(rawValue: row[6])
        else { return nil }
        return NotificationSummary(
            id: row[0], uuid: row[1], version: row[2], type: row[3], subtype: row[4],
            scope: AppScope(bundleId: bundleId, environment: environment),
            signedDate: (row[7] as Int64?).map(Timestamp.init(milliseconds:)),
            receivedAt: Timestamp(milliseconds: row[8]), originalTransactionId: row[9])
    }
}
