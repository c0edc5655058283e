package import AppStoreTypes
import GRDB
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
            """
            receivedAt >= ?1 AND notification.id > ?2 AND coalesce(signedDate, receivedAt) < ?3
            AND (NOT ?4 OR settledAt IS NULL) AND (?5 IS NULL OR uuid = ?5) ORDER BY notification.id LIMIT ?6
            """,
            [
                filter.receivedSince.milliseconds, id, filter.requestedBefore?.milliseconds ?? .max,
                filter.isUnsettled, filter.uuid, limit,
            ])
    }

    package func consumptionCases(
        about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            "originalTransactionId = ? AND bundleId = ? AND environment = ? ORDER BY notification.id",
            [originalTransactionId, scope.bundleId.rawValue, scope.environment.rawValue])
    }

    /// Returns the cases that satisfy a condition in SQL.
    private func cases(
        _ condition: String, _ arguments: StatementArguments
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT notification.id, uuid, bundleId, environment, text, coalesce(signedDate, receivedAt),
                        answeredAt, decision, settledAt
                    FROM notification JOIN app ON app.id = notification.app
                    LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
                    WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND \(condition)
                    """, arguments: arguments)
            return try rows.compactMap { row in
                guard let bundleId = BundleIdentifier(rawValue: row[2]),
                    let environment = AppStoreEnvironment(rawValue: row[3])
                else { return nil }
                return ConsumptionCase(
                    id: row[0], uuid: row[1], scope: AppScope(bundleId: bundleId, environment: environment),
                    text: try self.text(row[4], in: db), requestedAt: Timestamp(milliseconds: row[5]),
                    answeredAt: (row[6] as Int64?).map(Timestamp.init(milliseconds:)),
                    decision: (row[7] as String?).flatMap(RefundDecision.init(rawValue:)),
                    settledAt: (row[8] as Int64?).map(Timestamp.init(milliseconds:)))
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
            try Row.fetchAll(
                db,
                sql: """
                    SELECT bundleId, environment, count(*), min(coalesce(signedDate, receivedAt))
                    FROM notification JOIN app ON app.id = notification.app
                    LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
                    WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND receivedAt >= ?1
                        AND coalesce(signedDate, receivedAt) >= ?1 AND answeredAt IS NULL AND settledAt IS NULL
                    GROUP BY bundleId, environment ORDER BY bundleId, environment
                    """, arguments: [time.milliseconds]
            ).compactMap { row in
                guard let bundleId = BundleIdentifier(rawValue: row[0]),
                    let environment = AppStoreEnvironment(rawValue: row[1])
                else { return nil }
                return OpenConsumptionRequests(
                    scope: AppScope(bundleId: bundleId, environment: environment), count: row[2],
                    oldest: Timestamp(milliseconds: row[3]))
            }
        }
    }
}
