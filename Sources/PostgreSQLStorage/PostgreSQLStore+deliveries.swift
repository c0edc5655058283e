package import Base
import PostgreSQLClient
package import Storage

/// The command that queues deliveries again.
extension PostgreSQLStore {
    package func replay(
        _ replay: DeliveryReplay, to url: String?, at now: Timestamp
    ) async throws(StorageError) -> [DeliverySummary] {
        let ofTarget = "($1::text IS NULL OR addressee IN (SELECT id FROM addressee WHERE url = $1::text))"
        return try await transaction { transaction in
            let chosen: PostgreSQLResult
            switch replay {
            case .allDead:
                chosen = try await transaction.query(
                    PostgreSQLQuery(
                        "SELECT id FROM delivery WHERE state = 2 AND \(ofTarget) ORDER BY id FOR UPDATE",
                        [PostgreSQLValue(url)]))
            case .notification(let uuid):
                chosen = try await transaction.run([
                    PostgreSQLQuery(
                        """
                        INSERT INTO delivery (addressee, notification, subject, createdAt, queuedAt, nextAttempt)
                        SELECT addressee.id, notification.id, originalTransactionId, $3::bigint, $3::bigint, $3::bigint
                        FROM notification JOIN app ON app.id = notification.app
                        JOIN addressee ON addressee.bundleId = app.bundleId
                        WHERE uuid = $2::text AND version = 2 AND addressee.url = $1::text ORDER BY addressee.id
                        ON CONFLICT (notification, addressee) DO NOTHING
                        """, [PostgreSQLValue(url), .text(uuid), PostgreSQLValue(now)]),
                    PostgreSQLQuery(
                        """
                        SELECT id FROM delivery
                        WHERE notification = (SELECT id FROM notification WHERE uuid = $2::text) AND \(ofTarget)
                        ORDER BY id FOR UPDATE
                        """, [PostgreSQLValue(url), .text(uuid)]),
                ])[1]
            }
            let ids = try chosen.rows.map { try $0.integer(0) }
            _ = try await transaction.query(
                PostgreSQLQuery(
                    """
                    UPDATE delivery SET state = 0, attempts = 0, bodiesSent = 0, lastFailure = NULL,
                    queuedAt = $1::bigint, nextAttempt = $1::bigint WHERE id = ANY ($2::bigint[])
                    """, [PostgreSQLValue(now), .integers(ids)]))
            return try await TransactionReader(transaction, of: self).read(
                DeliverySummary.statement("delivery.id = ANY ($1) ORDER BY delivery.id", .integers(ids)),
                DeliverySummary.init)
        }
    }
}
