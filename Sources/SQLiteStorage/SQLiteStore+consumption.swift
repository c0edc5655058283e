package import AppStoreTypes
import GRDB
import SQLiteFiles
package import Storage

extension SQLiteStore: ConsumptionCaseStore {
    /// Creates the table of what became of Apple's requests for consumption information, and the index of the requests.
    static func addConsumptionCases(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE consumptionCase (
                    notification INTEGER PRIMARY KEY REFERENCES notification (id) ON DELETE CASCADE,
                    answeredAt INTEGER, decision TEXT, settledAt INTEGER);
                CREATE INDEX consumptionRequestByArrival ON notification (receivedAt)
                    WHERE type = 'CONSUMPTION_REQUEST';
                """)
    }

    package func consumptionCases(
        _ filter: ConsumptionCaseFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            after: id, limit: limit,
            """
            receivedAt >= ?3 AND coalesce(signedDate, receivedAt) < ?4
            AND (NOT ?5 OR settledAt IS NULL) AND (?6 IS NULL OR uuid = ?6)
            """,
            [
                filter.receivedSince.milliseconds, filter.requestedBefore?.milliseconds ?? .max, filter.isUnsettled,
                filter.uuid,
            ])
    }

    package func consumptionCases(
        about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            "originalTransactionId = ?3 AND bundleId = ?4 AND environment = ?5",
            [originalTransactionId, scope.bundleId.rawValue, scope.environment.rawValue])
    }

    /// Returns the cases that satisfy a condition in SQL, in the order of row ids. `?1` and `?2` are `id` and `limit`.
    private func cases(
        after id: Int64 = .min, limit: Int = .max, _ condition: String, _ arguments: StatementArguments
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await read { db in
            try self.page(after: id, limit: limit) {
                try db.rows(
                    """
                    SELECT notification.id, uuid, bundleId, environment, text, coalesce(signedDate, receivedAt),
                        answeredAt, decision, settledAt
                    FROM notification JOIN app ON app.id = notification.app
                    LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
                    WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND notification.id > ?1 AND \(condition)
                    ORDER BY notification.id LIMIT ?2
                    """, [$0, limit] + arguments)
            } _: { row in
                try row.scope(2, 3).map { scope in
                    ConsumptionCase(
                        id: try row.integer(0), uuid: try row.text(1), scope: scope,
                        text: try self.text(row, 4, in: db), requestedAt: try row.timestamp(5),
                        answeredAt: try row.optionalTimestamp(6),
                        decision: try row.optionalText(7).flatMap(RefundDecision.init(rawValue:)),
                        settledAt: try row.optionalTimestamp(8))
                }
            }
        }
    }

    package func markAnswered(_ uuid: String, at now: Timestamp) async throws(StorageError) {
        try await write { db in
            try db.execute(
                sql: """
                    INSERT INTO consumptionCase (notification, answeredAt)
                    SELECT id, ? FROM notification WHERE uuid = ?
                    ON CONFLICT (notification) DO UPDATE SET answeredAt = coalesce(answeredAt, excluded.answeredAt)
                    """, arguments: [now.milliseconds, uuid])
        }
    }

    package func settle(
        _ id: Int64, as decision: RefundDecision, replacing previous: RefundDecision?, at now: Timestamp
    ) async throws(StorageError) {
        try await write { db in
            try db.execute(
                sql: """
                    INSERT INTO consumptionCase (notification, decision, settledAt)
                    SELECT id, ?, ? FROM notification WHERE id = ?
                    ON CONFLICT (notification) DO UPDATE SET
                        decision = excluded.decision, settledAt = excluded.settledAt WHERE decision IS ?
                    """, arguments: [decision.rawValue, now.milliseconds, id, previous?.rawValue])
        }
    }

    package func openConsumptionRequests(
        since time: Timestamp
    ) async throws(StorageError) -> [OpenConsumptionRequests] {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT bundleId, environment, count(*), min(coalesce(signedDate, receivedAt))
                FROM notification JOIN app ON app.id = notification.app
                LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
                WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND receivedAt >= ?1
                    AND coalesce(signedDate, receivedAt) >= ?1 AND answeredAt IS NULL AND settledAt IS NULL
                GROUP BY bundleId, environment ORDER BY bundleId, environment
                """, [time.milliseconds])
            return try self.intact(rows) { row in
                try row.scope(0, 1).map {
                    OpenConsumptionRequests(
                        scope: $0, count: try row.integer(2), oldest: try row.timestamp(3))
                }
            }
        }
    }
}
