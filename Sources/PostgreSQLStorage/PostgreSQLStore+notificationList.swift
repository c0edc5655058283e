import AppStoreTypes
import PostgreSQLClient
package import Storage

/// Reading stored notifications, for people.
extension PostgreSQLStore {
    /// The columns of a ``NotificationSummary``.
    private static let summary = """
        notification.id, uuid, version, type, subtype, bundleId, environment, signedDate, receivedAt,
        originalTransactionId
        """

    package func notification(_ uuid: String) async throws(StorageError) -> StoredNotification? {
        let rows = try await read(
            """
            SELECT \(Self.summary), text, body FROM notification JOIN app ON app.id = notification.app
            LEFT JOIN unusualBody ON unusualBody.notification = notification.id WHERE uuid = $1
            """, [.text(uuid)])
        let found = try value { () throws(PostgreSQLError) in
            try rows.first.map { row throws(PostgreSQLError) in
                (try Self.summary(row), try row.jws(10), try row.optionalBytes(11))
            }
        }
        guard let found, let summary = found.0, let text = try await texts([found.1]).first else { return nil }
        return StoredNotification(summary: summary, text: text, rawBody: found.2)
    }

    package func notifications(
        matching filter: NotificationFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [NotificationSummary] {
        var arguments: [PostgreSQLValue] = [
            .integer(id), PostgreSQLValue(filter.bundleId?.rawValue), PostgreSQLValue(filter.environment?.rawValue),
            PostgreSQLValue(filter.type), .integer(filter.since?.milliseconds ?? .min), .integer(Int64(limit)),
        ]
        var condition = ""
        if let purchases = filter.purchases {
            condition = "AND originalTransactionId = ANY ($7::text[])"
            arguments.append(.texts(purchases))
        }
        let rows = try await read(
            """
            SELECT \(Self.summary) FROM notification JOIN app ON app.id = notification.app
            WHERE notification.id > $1 AND version > 0 AND ($2::text IS NULL OR bundleId = $2::text)
                AND ($3::text IS NULL OR environment = $3::text) AND ($4::text IS NULL OR type = $4::text)
                AND receivedAt >= $5 \(condition)
            ORDER BY notification.id LIMIT $6
            """, arguments)
        return try value { () throws(PostgreSQLError) in
            var summaries: [NotificationSummary] = []
            for row in rows { if let summary = try Self.summary(row) { summaries.append(summary) } }
            return summaries
        }
    }

    private static func summary(_ row: PostgreSQLRow) throws(PostgreSQLError) -> NotificationSummary? {
        guard let scope = try row.scope(5, 6) else { return nil }
        return NotificationSummary(
            id: try row.integer(0), uuid: try row.text(1), version: Int(try row.integer(2)),
            type: try row.optionalText(3), subtype: try row.optionalText(4), scope: scope,
            signedDate: try row.optionalTimestamp(7), receivedAt: try row.timestamp(8),
            originalTransactionId: try row.optionalText(9))
    }
}
