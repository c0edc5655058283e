package import Base
import PostgreSQLClient
package import Storage

/// Version 1 notifications. They are unsigned, so they count only as hints, and only the transaction ids of the body
/// are stored.
extension PostgreSQLStore {
    package func save(
        hint notification: NotificationRow, about hints: [TransactionIdentifier], of scope: AppScope
    ) async throws(StorageError) -> NotificationOutcome {
        let app = try await appID(of: scope)
        var customers = CustomerLocks()
        for hint in hints { customers.add(hint.rawValue, app: app) }
        let day: Int64 = 86_400_000
        let start = notification.receivedAt.milliseconds - notification.receivedAt.milliseconds % day
        let change = StoredChange(.event, of: hints.map(\.rawValue), transactions: [], in: scope)
        let results = try await write(
            [
                // Deleting the oldest hints of the day must not cross another deletion.
                LockSlot.lock(["hints"], app: app),
                customers.query,
                PostgreSQLQuery(
                    """
                    WITH source AS (
                        INSERT INTO notification (uuid, version, type, subtype, app, receivedAt, originalTransactionId, text)
                        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (uuid) DO NOTHING RETURNING id),
                    stale AS (
                        UPDATE customer SET needsLookupSince = greatest(needsLookupSince, $6) WHERE id IN (
                            SELECT found.customer FROM source, unnest($9::text[]) AS hint (identifier)
                            CROSS JOIN LATERAL (
                                SELECT customer FROM (
                                    (SELECT customer, 0 AS rank FROM transactionRecord
                                        WHERE originalTransactionId = hint.identifier AND app = $5
                                        AND customer IS NOT NULL LIMIT 1)
                                    UNION ALL
                                    (SELECT customer, 1 FROM transactionRecord
                                        WHERE transactionId = hint.identifier AND app = $5
                                        AND customer IS NOT NULL LIMIT 1)) AS candidate
                                ORDER BY rank LIMIT 1) AS found))
                    SELECT id FROM source
                    """,
                    [
                        .text(notification.uuid), .integer(Int64(notification.version)),
                        PostgreSQLValue(notification.type),
                        PostgreSQLValue(notification.subtype), .integer(app), PostgreSQLValue(notification.receivedAt),
                        PostgreSQLValue(hints.first?.rawValue), .bytes(EncodedJWS.raw(notification.text).columnBytes),
                        .texts(hints.map(\.rawValue)),
                    ]),
                PostgreSQLQuery(
                    """
                    DELETE FROM notification WHERE id IN (
                        SELECT id FROM notification
                        WHERE version = 1 AND app = $1 AND receivedAt >= $2 AND receivedAt < $3
                        ORDER BY receivedAt DESC, id DESC OFFSET $4)
                    """, [.integer(app), .integer(start), .integer(start + day), .integer(Int64(hintsPerDay))]),
            ] + (hints.isEmpty ? [] : [PostgreSQLQuery(add(change, app: app))]))
        return results[2].rows.isEmpty ? .repeated : .stored(isNew: false)
    }
}
