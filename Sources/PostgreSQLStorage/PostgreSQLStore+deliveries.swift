package import AppStoreTypes
import PostgreSQLClient
package import Storage

/// The commands that list deliveries and queue them again.
extension PostgreSQLStore {
    package func deliveries(
        in state: DeliveryState?, after id: Int64, limit: Int
    ) async throws(StorageError) -> [DeliverySummary] {
        let rows = try await read(
            // A literal state, because the partial index of abandoned deliveries is used only with it.
            "\(Self.summaries) WHERE delivery.id > $1 \(state.map { "AND state = \($0.rawValue)" } ?? "")"
                + " ORDER BY delivery.id LIMIT $2",
            [.integer(id), .integer(Int64(limit))])
        return try summaries(rows)
    }

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
            let results = try await transaction.run([
                PostgreSQLQuery(
                    """
                    UPDATE delivery SET state = 0, attempts = 0, bodiesSent = 0, lastFailure = NULL,
                    queuedAt = $1::bigint, nextAttempt = $1::bigint WHERE id = ANY ($2::bigint[])
                    """, [PostgreSQLValue(now), .integers(ids)]),
                PostgreSQLQuery(
                    "\(Self.summaries) WHERE delivery.id = ANY ($1::bigint[]) ORDER BY delivery.id", [.integers(ids)]),
            ])
            return try self.summaries(results[1].rows)
        }
    }

    package func deliveryBacklog() async throws(StorageError) -> [DeliveryBacklog] {
        // The states are literals, so that the partial indices of both are used.
        let rows = try await read(
            """
            SELECT bundleId, sum(waiting)::bigint, sum(dead)::bigint FROM (
                SELECT addressee AS target, count(*) AS waiting, 0 AS dead FROM delivery WHERE state = 0
                GROUP BY addressee
                UNION ALL
                SELECT addressee, 0, count(*) FROM delivery WHERE state = 2 GROUP BY addressee) AS backlog
            JOIN addressee ON addressee.id = target GROUP BY bundleId ORDER BY bundleId
            """)
        return try value { () throws(PostgreSQLError) in
            var backlog: [DeliveryBacklog] = []
            for row in rows {
                guard let bundleId = BundleIdentifier(rawValue: try row.text(0)) else { continue }
                backlog.append(
                    DeliveryBacklog(bundleId: bundleId, waiting: try row.integer(1), abandoned: try row.integer(2)))
            }
            return backlog
        }
    }

    private static let summaries = """
        SELECT delivery.id, uuid, type, subtype, environment, addressee.bundleId, form, url, state, attempts,
        lastFailure, createdAt, nextAttempt
        FROM delivery JOIN addressee ON addressee.id = delivery.addressee
        JOIN notification ON notification.id = delivery.notification JOIN app ON app.id = notification.app
        """

    /// Returns the deliveries in rows of ``summaries``.
    private func summaries(_ rows: [PostgreSQLRow]) throws(StorageError) -> [DeliverySummary] {
        try value { () throws(PostgreSQLError) in
            var summaries: [DeliverySummary] = []
            for row in rows {
                guard let bundleId = BundleIdentifier(rawValue: try row.text(5)),
                    let state = DeliveryState(rawValue: try row.integer(8))
                else { continue }
                summaries.append(
                    DeliverySummary(
                        id: try row.integer(0), uuid: try row.text(1), type: try row.optionalText(2),
                        subtype: try row.optionalText(3), environment: try row.text(4),
                        targetKey: ForwardingTargetKey(
                            bundleId: bundleId, form: try row.text(6), url: try row.text(7)),
                        state: state, attempts: Int(try row.integer(9)), lastFailure: try row.optionalText(10),
                        createdAt: try row.timestamp(11), nextAttempt: state == .waiting ? try row.timestamp(12) : nil))
            }
            return summaries
        }
    }
}
