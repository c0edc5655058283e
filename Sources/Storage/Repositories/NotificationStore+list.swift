package import ReceiptBridgeBase

/// Reading stored notifications, for people.
extension NotificationStore {
    package func notification(_ uuid: String) async throws(StorageError) -> StoredNotification? {
        try await read(
            SQLStatement(
                """
                SELECT \(NotificationSummary.columns), text, body FROM notification JOIN app ON app.id = notification.app
                LEFT JOIN unusualBody ON unusualBody.notification = notification.id WHERE uuid = $1
                """, .text(uuid))
        ) { (row) throws(StorageError) -> StoredNotification? in
            guard let summary = try NotificationSummary(row) else { return nil }
            return StoredNotification(
                summary: summary, text: try row.signedText(10), rawBody: try row.optionalBytes(11))
        }.first
    }

    /// Returns when the oldest and the newest signed notification were received; `nil` if there is none.
    package func arrivals() async throws(StorageError) -> (oldest: Timestamp, newest: Timestamp)? {
        func arrival(_ order: String) async throws(StorageError) -> Timestamp? {
            try await readIntact(
                SQLStatement("SELECT receivedAt FROM notification WHERE version = 2 ORDER BY id \(order) LIMIT 1")
            ) { (row) throws(StorageError) in try row.timestamp(0) }.first
        }
        guard let oldest = try await arrival("ASC"), let newest = try await arrival("DESC") else { return nil }
        return (oldest, newest)
    }

    /// Returns notifications without their texts, in the order of arrival. The id is the last one of the previous page,
    /// or 0.
    package func notifications(
        matching filter: NotificationFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [NotificationSummary] {
        let purchases = filter.purchases.map { SQLValue.texts($0) }
        let isAny = purchases == nil ? "" : "AND \(dialect.isAny("originalTransactionId", "$7"))"
        return try await page(after: id, limit: limit) { id in
            SQLStatement(
                """
                SELECT \(NotificationSummary.columns) FROM notification JOIN app ON app.id = notification.app
                WHERE notification.id > $1 AND version > 0 AND (bundleId = $2 OR $2 IS NULL)
                    AND (environment = $3 OR $3 IS NULL) AND (type = $4 OR $4 IS NULL) AND receivedAt >= $5 \(isAny)
                ORDER BY notification.id LIMIT $6
                """,
                [
                    .integer(id), (filter.bundleId?.rawValue).map(SQLValue.text),
                    (filter.environment?.rawValue).map(SQLValue.text), filter.type.map(SQLValue.text),
                    .integer(filter.since?.milliseconds ?? .min), .integer(Int64(limit)),
                ] + (purchases.map { [$0] } ?? []))
        } _: { (row) throws(StorageError) in
            try NotificationSummary(row)
        }
    }
}

extension NotificationStore {
    package func holdsNotification(_ uuid: String) async throws(StorageError) -> Bool {
        try await !read(SQLStatement("SELECT id FROM notification WHERE uuid = $1", .text(uuid))) { _ in true }.isEmpty
    }

    /// Returns version 2 notifications of one type about a purchase, the latest first, each with the time of receipt.
    package func notifications(
        _ type: String, about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [(text: String, receivedAt: Timestamp)] {
        try await readIntact(
            SQLStatement(
                """
                SELECT text, receivedAt FROM notification JOIN app ON app.id = notification.app
                WHERE type = $1 AND originalTransactionId = $2 AND bundleId = $3 AND environment = $4 AND version = 2
                ORDER BY coalesce(signedDate, receivedAt) DESC, notification.id
                """, .text(type), .text(originalTransactionId), .text(scope.bundleId.rawValue),
                .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in (try row.signedText(0), try row.timestamp(1)) }
    }

    /// Returns earlier signed notifications about the same purchase, of one type or of all, the most recently signed
    /// first. The id is ``StoredDelivery/notification``.
    package func previousNotifications(
        of id: Int64, type: String?, limit: Int
    ) async throws(StorageError) -> [PreviousNotification] {
        try await readIntact(
            SQLStatement(
                """
                SELECT old.type, old.signedDate, old.text FROM notification AS new
                JOIN notification AS old ON old.originalTransactionId = new.originalTransactionId
                AND old.app = new.app AND old.id < new.id AND old.version = 2
                WHERE new.id = $1 AND (old.type = $2 OR $2 IS NULL)
                ORDER BY coalesce(old.signedDate, old.receivedAt) DESC, old.id DESC LIMIT $3
                """, .integer(id), SQLValue(type), .integer(Int64(limit)))
        ) { (row) throws(StorageError) in
            PreviousNotification(
                type: try row.optionalText(0), signedDate: try row.optionalTimestamp(1), text: try row.signedText(2))
        }
    }
}

extension NotificationSummary {
    fileprivate static let columns = """
        notification.id, uuid, version, type, subtype, bundleId, environment, signedDate, receivedAt,
        originalTransactionId
        """

    /// Reads ``columns``; `nil` for an app that no version writes.
    fileprivate init?(_ row: some SQLRow) throws(StorageError) {
        guard let scope = try row.scope(5, 6) else { return nil }
        self.init(
            id: try row.rowID(0), uuid: try row.text(1), version: try row.count(2),
            type: try row.optionalText(3), subtype: try row.optionalText(4), scope: scope,
            signedDate: try row.optionalTimestamp(7), receivedAt: try row.timestamp(8),
            originalTransactionId: try row.optionalText(9))
    }
}
