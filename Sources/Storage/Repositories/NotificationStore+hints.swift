package import ReceiptBridgeBase

/// Version 1 notifications. They are unsigned, so they count only as hints, and only the transaction ids of the body
/// are stored.
extension NotificationStore {
    /// Stores an unsigned notification and marks the customers with the identifiers for a new lookup.
    package func save(
        hint notification: NotificationRow, about hints: [TransactionIdentifier], of scope: AppScope
    ) async throws(StorageError) -> NotificationOutcome {
        let app = try await appID(of: scope)
        let identifiers = hints.map(\.rawValue)
        // Deleting the oldest hints of the day must not cross another deletion.
        let locks = locks(of: ["hints"], app: app) + customerLocks(of: identifiers, downloads: [], app: app)
        let insert = SQLStatement(
            """
            INSERT INTO notification (uuid, version, type, subtype, app, receivedAt, originalTransactionId, text)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (uuid) DO NOTHING RETURNING id
            """, .text(notification.uuid), .integer(Int64(notification.version)), SQLValue(notification.type),
            SQLValue(notification.subtype), .integer(app), SQLValue(notification.receivedAt),
            SQLValue(identifiers.first), .jws(.raw(notification.text)))
        let change = StoredChange(.event, of: identifiers, transactions: [], in: scope)
        let inserted = try await write(
            locks + [
                insert, markStale(customersOf: identifiers, app: app, if: notification),
                deleteOldest(of: app, onDayOf: notification.receivedAt),
            ] + (hints.isEmpty ? [] : announcements(of: change, app: app))
        ) { (index, row) throws(StorageError) in index == locks.count ? try row.rowID(0) : nil }
        return inserted.isEmpty ? .repeated : .stored(isNew: false)
    }

    /// Marks the customers that have one of the identifiers for a lookup. A notification that was stored before was
    /// received at another time, or was at the same time and marked them already.
    private func markStale(
        customersOf identifiers: [String], app: Int64, if notification: NotificationRow
    ) -> SQLStatement {
        SQLStatement(
            """
            UPDATE customer SET needsLookupSince = \(dialect.greatest(dialect.time("needsLookupSince"), "$1"))
            WHERE EXISTS (SELECT 1 FROM notification WHERE uuid = $2 AND receivedAt = $1) AND id IN (
                SELECT coalesce(
                    (SELECT customer FROM transactionRecord
                        WHERE originalTransactionId = hint.identifier AND app = $3 AND customer IS NOT NULL LIMIT 1),
                    (SELECT customer FROM transactionRecord
                        WHERE transactionId = hint.identifier AND app = $3 AND customer IS NOT NULL LIMIT 1))
                FROM \(dialect.rows([("identifier", "$4")], as: "hint")))
            """, SQLValue(notification.receivedAt), .text(notification.uuid), .integer(app), .texts(identifiers))
    }

    /// Deletes the oldest version 1 notifications of an app's UTC day beyond ``SQLEngine/hintsPerDay``.
    private func deleteOldest(of app: Int64, onDayOf time: Timestamp) -> SQLStatement {
        let day = Duration.days(1).inMilliseconds
        let start = time.milliseconds - time.milliseconds % day
        return SQLStatement(
            """
            DELETE FROM notification WHERE id IN (
                SELECT id FROM notification WHERE version = 1 AND app = $1 AND receivedAt >= $2 AND receivedAt < $3
                ORDER BY receivedAt DESC, id DESC \(dialect.offset("$4")))
            """, .integer(app), .integer(start), .integer(start + day), .integer(Int64(hintsPerDay)))
    }
}
