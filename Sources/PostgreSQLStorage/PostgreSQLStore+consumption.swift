package import AppStoreTypes
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: ConsumptionCaseStore {
    /// The table of what became of Apple's requests for consumption information, and the index of the requests.
    static let consumptionCasesStep = SchemaStep(
        "consumptionCases",
        [
            """
            CREATE TABLE consumptionCase (
                notification bigint PRIMARY KEY REFERENCES notification (id) ON DELETE CASCADE,
                answeredAt bigint, decision text, settledAt bigint)
            """,
            """
            CREATE INDEX consumptionRequestByArrival ON notification (receivedAt)
                WHERE type = 'CONSUMPTION_REQUEST'
            """,
        ])

    package func consumptionCases(
        _ filter: ConsumptionCaseFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            """
            receivedAt >= $1 AND notification.id > $2 AND coalesce(signedDate, receivedAt) < $3
            AND (NOT $4::boolean OR settledAt IS NULL) AND ($5::text IS NULL OR uuid = $5::text)
            ORDER BY notification.id LIMIT $6
            """,
            [
                PostgreSQLValue(filter.receivedSince), .integer(id),
                .integer(filter.requestedBefore?.milliseconds ?? .max), .boolean(filter.isUnsettled),
                PostgreSQLValue(filter.uuid), .integer(Int64(limit)),
            ])
    }

    package func consumptionCases(
        about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            "originalTransactionId = $1 AND bundleId = $2 AND environment = $3 ORDER BY notification.id",
            [.text(originalTransactionId), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue)])
    }

    /// Returns the cases that satisfy a condition in SQL.
    private func cases(
        _ condition: String, _ arguments: [PostgreSQLValue]
    ) async throws(StorageError) -> [ConsumptionCase] {
        let rows = try await read(
            """
            SELECT notification.id, uuid, bundleId, environment, text, coalesce(signedDate, receivedAt),
                answeredAt, decision, settledAt
            FROM notification JOIN app ON app.id = notification.app
            LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
            WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND \(condition)
            """, arguments)
        let texts = try await texts(
            try value { () throws(PostgreSQLError) in try rows.map { row throws(PostgreSQLError) in try row.jws(4) } })
        return try value { () throws(PostgreSQLError) in
            var cases: [ConsumptionCase] = []
            for (row, text) in zip(rows, texts) {
                guard let scope = try row.scope(2, 3) else { continue }
                cases.append(
                    ConsumptionCase(
                        id: try row.integer(0), uuid: try row.text(1), scope: scope, text: text,
                        requestedAt: try row.timestamp(5), answeredAt: try row.optionalTimestamp(6),
                        decision: try row.optionalText(7).flatMap(RefundDecision.init(rawValue:)),
                        settledAt: try row.optionalTimestamp(8)))
            }
            return cases
        }
    }

    package func markAnswered(_ uuid: String, at now: Timestamp) async throws(StorageError) {
        try await write(
            "uuid", .text(uuid),
            """
            INSERT INTO consumptionCase (notification, answeredAt)
            SELECT id, $2 FROM notification WHERE id = $1 FOR KEY SHARE
            ON CONFLICT (notification) DO UPDATE SET
                answeredAt = coalesce(consumptionCase.answeredAt, excluded.answeredAt)
            """, [PostgreSQLValue(now)])
    }

    package func settle(
        _ id: Int64, as decision: RefundDecision, replacing previous: RefundDecision?, at now: Timestamp
    ) async throws(StorageError) {
        try await write(
            "id", .integer(id),
            """
            INSERT INTO consumptionCase (notification, decision, settledAt)
            SELECT id, $2, $3 FROM notification WHERE id = $1 FOR KEY SHARE
            ON CONFLICT (notification) DO UPDATE SET
                decision = excluded.decision, settledAt = excluded.settledAt
                WHERE consumptionCase.decision IS NOT DISTINCT FROM $4::text
            """, [.text(decision.rawValue), PostgreSQLValue(now), PostgreSQLValue(previous?.rawValue)])
    }

    /// Locks the slot of a notification's purchase, and runs a statement whose first parameter is the row id of the
    /// notification.
    private func write(
        _ column: String, _ key: PostgreSQLValue, _ statement: String, _ arguments: [PostgreSQLValue]
    ) async throws(StorageError) {
        let rows = try await read(
            "SELECT id, app, coalesce(originalTransactionId, uuid) FROM notification WHERE \(column) = $1", [key])
        let found = try value { () throws(PostgreSQLError) in
            try rows.first.map { row throws(PostgreSQLError) in
                (try row.integer(0), try row.integer(1), try row.text(2))
            }
        }
        guard let (id, app, purchase) = found else { return }
        try await write([
            LockSlot.lock([purchase], app: app), PostgreSQLQuery(statement, [.integer(id)] + arguments),
        ])
    }

    package func openConsumptionRequests(
        since time: Timestamp
    ) async throws(StorageError) -> [OpenConsumptionRequests] {
        let rows = try await read(
            """
            SELECT bundleId, environment, count(*), min(coalesce(signedDate, receivedAt))
            FROM notification JOIN app ON app.id = notification.app
            LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
            WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND receivedAt >= $1
                AND coalesce(signedDate, receivedAt) >= $1 AND answeredAt IS NULL AND settledAt IS NULL
            GROUP BY bundleId, environment ORDER BY bundleId, environment
            """, [PostgreSQLValue(time)])
        return try value { () throws(PostgreSQLError) in
            var open: [OpenConsumptionRequests] = []
            for row in rows {
                guard let scope = try row.scope(0, 1) else { continue }
                open.append(
                    OpenConsumptionRequests(
                        scope: scope, count: try row.integer(2), oldest: try row.timestamp(3)))
            }
            return open
        }
    }
}
