package import ReceiptBridgeBase

/// Apple's requests for consumption information. A stored notification `CONSUMPTION_REQUEST` is a case by itself, so
/// none is missing; what became of it is stored separately.
package protocol ConsumptionCaseStore: SQLEngine {}

extension ConsumptionCaseStore {
    /// Returns cases in the order of arrival. The id is the last one of the previous page, or 0.
    package func consumptionCases(
        _ filter: ConsumptionCaseFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            after: id, limit: limit,
            """
            receivedAt >= $3 AND coalesce(signedDate, receivedAt) < $4 AND (NOT $5 OR settledAt IS NULL)
            AND (uuid = $6 OR $6 IS NULL)
            """,
            SQLValue(filter.receivedSince), .integer(filter.requestedBefore?.milliseconds ?? .max),
            .boolean(filter.isUnsettled), filter.uuid.map(SQLValue.text))
    }

    /// Returns the cases of a purchase and its renewals in the order of arrival.
    package func consumptionCases(
        about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await cases(
            "originalTransactionId = $3 AND bundleId = $4 AND environment = $5", .text(originalTransactionId),
            .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
    }

    /// Returns the cases that satisfy a condition in SQL, in the order of row ids. `$1` and `$2` are `id` and `limit`.
    private func cases(
        after id: Int64 = .min, limit: Int = .max, _ condition: String, _ values: SQLValue?...
    ) async throws(StorageError) -> [ConsumptionCase] {
        try await page(after: id, limit: limit) { id in
            SQLStatement(
                """
                SELECT notification.id, uuid, bundleId, environment, text, coalesce(signedDate, receivedAt),
                    answeredAt, decision, settledAt
                FROM notification JOIN app ON app.id = notification.app
                LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
                WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND notification.id > $1 AND \(condition)
                ORDER BY notification.id LIMIT $2
                """, [.integer(id), .integer(Int64(limit))] + values)
        } _: { (row) throws(StorageError) in
            guard let scope = try row.scope(2, 3) else { return nil }
            return ConsumptionCase(
                id: try row.rowID(0), uuid: try row.text(1), scope: scope, text: try row.signedText(4),
                requestedAt: try row.timestamp(5), answeredAt: try row.optionalTimestamp(6),
                decision: try row.optionalText(7).flatMap(RefundDecision.init(rawValue:)),
                settledAt: try row.optionalTimestamp(8))
        }
    }

    /// Records that consumption information was sent. The first time counts.
    package func markAnswered(_ uuid: String, at now: Timestamp) async throws(StorageError) {
        try await write(
            "uuid", .text(uuid),
            """
            INSERT INTO consumptionCase (notification, answeredAt)
            SELECT id, $2 FROM notification WHERE id = $1 \(dialect.lockingKeys)
            ON CONFLICT (notification) DO UPDATE SET
                answeredAt = coalesce(consumptionCase.answeredAt, excluded.answeredAt)
            """, SQLValue(now))
    }

    /// Stores the decision of a case, unless it has another decision than `previous` by now.
    package func settle(
        _ id: Int64, as decision: RefundDecision, replacing previous: RefundDecision?, at now: Timestamp
    ) async throws(StorageError) {
        try await write(
            "id", .integer(id),
            """
            INSERT INTO consumptionCase (notification, decision, settledAt)
            SELECT id, $2, $3 FROM notification WHERE id = $1 \(dialect.lockingKeys)
            ON CONFLICT (notification) DO UPDATE SET decision = excluded.decision, settledAt = excluded.settledAt
                WHERE coalesce(consumptionCase.decision, '') = $4
            """, .text(decision.rawValue), SQLValue(now), .text(previous?.rawValue ?? ""))
    }

    /// Locks the slot of a notification's purchase, and runs a statement whose first parameter is the row id of the
    /// notification.
    private func write(
        _ column: String, _ key: SQLValue, _ statement: String, _ values: SQLValue...
    ) async throws(StorageError) {
        let found = try await read(
            SQLStatement(
                "SELECT id, app, coalesce(originalTransactionId, uuid) FROM notification WHERE \(column) = $1", key)
        ) { (row) throws(StorageError) in
            (id: try row.rowID(0), app: try row.rowID(1), purchase: try row.text(2))
        }
        guard let (id, app, purchase) = found.first else { return }
        try await write(locks(of: [purchase], app: app) + [SQLStatement(statement, [.integer(id)] + values)])
    }

    /// Returns the requests since a time that were neither answered nor settled, by app and environment.
    package func openConsumptionRequests(
        since time: Timestamp
    ) async throws(StorageError) -> [OpenConsumptionRequests] {
        try await readIntact(
            SQLStatement(
                """
                SELECT bundleId, environment, count(*), min(coalesce(signedDate, receivedAt))
                FROM notification JOIN app ON app.id = notification.app
                LEFT JOIN consumptionCase ON consumptionCase.notification = notification.id
                WHERE type = 'CONSUMPTION_REQUEST' AND version = 2 AND receivedAt >= $1
                    AND coalesce(signedDate, receivedAt) >= $1 AND answeredAt IS NULL AND settledAt IS NULL
                GROUP BY bundleId, environment ORDER BY bundleId, environment
                """, SQLValue(time))
        ) { (row) throws(StorageError) in
            guard let scope = try row.scope(0, 1) else { return nil }
            return OpenConsumptionRequests(scope: scope, count: try row.count(2), oldest: try row.timestamp(3))
        }
    }
}
