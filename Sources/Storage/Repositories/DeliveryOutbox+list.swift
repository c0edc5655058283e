package import ReceiptBridgeBase

extension DeliveryOutbox {
    /// Returns the targets, also former ones, to which a delivery is due that is not leased.
    package func dueTargets(at now: Timestamp) async throws(StorageError) -> Set<ForwardingTargetKey> {
        let present = dialect.now("$1")
        let found = try await readIntact(
            SQLStatement(
                """
                SELECT bundleId, form, url FROM addressee WHERE EXISTS (
                    SELECT 1 FROM delivery WHERE addressee = addressee.id AND state = 0 AND nextAttempt <= \(present)
                        AND NOT \(dialect.isLeased(after: present, at: present)))
                """, SQLValue(now))
        ) { (row) throws(StorageError) in try ForwardingTargetKey(row, 0) }
        return Set(found)
    }

    /// Returns the backlog of each app that has one. Reads only the partial indices of both states, which are used only
    /// with literal states.
    package func deliveryBacklog() async throws(StorageError) -> [DeliveryBacklog] {
        try await readIntact(
            SQLStatement(
                """
                SELECT bundleId, CAST(sum(waiting) AS bigint), CAST(sum(dead) AS bigint) FROM (
                    SELECT addressee AS target, count(*) AS waiting, 0 AS dead FROM delivery WHERE state = 0
                    GROUP BY addressee
                    UNION ALL
                    SELECT addressee, 0, count(*) FROM delivery WHERE state = 2 GROUP BY addressee) AS backlog
                JOIN addressee ON addressee.id = target GROUP BY bundleId ORDER BY bundleId
                """)
        ) { (row) throws(StorageError) -> DeliveryBacklog? in
            guard let bundleId = BundleIdentifier(rawValue: try row.text(0)) else { return nil }
            return DeliveryBacklog(bundleId: bundleId, waiting: try row.integer(1), abandoned: try row.integer(2))
        }
    }

    /// Returns deliveries in the order of arrival. The id is the last one of the previous page, or 0.
    package func deliveries(
        in state: DeliveryState? = nil, after id: Int64 = 0, limit: Int = 500
    ) async throws(StorageError) -> [DeliverySummary] {
        // A literal state, because the partial index of abandoned deliveries is used only with it.
        let isInState = state.map { "AND state = \($0.rawValue)" } ?? ""
        return try await page(after: id, limit: limit) { id in
            DeliverySummary.statement(
                "delivery.id > $1 \(isInState) ORDER BY delivery.id LIMIT $2", .integer(id), .integer(Int64(limit)))
        } _: { (row) throws(StorageError) in
            try DeliverySummary(row)
        }
    }
}

extension DeliverySummary {
    /// A query for deliveries. The condition can have other clauses after it.
    package static func statement(_ condition: String, _ values: SQLValue...) -> SQLStatement {
        SQLStatement(
            """
            SELECT delivery.id, uuid, type, subtype, environment, addressee.bundleId, form, url, state, attempts,
                lastFailure, createdAt, nextAttempt
            FROM delivery JOIN addressee ON addressee.id = delivery.addressee
            JOIN notification ON notification.id = delivery.notification JOIN app ON app.id = notification.app
            WHERE \(condition)
            """, values)
    }

    /// Reads a row of ``statement(_:_:)``; `nil` for an app that no version writes.
    init?(_ row: some SQLRow) throws(StorageError) {
        guard let targetKey = try ForwardingTargetKey(row, 5) else { return nil }
        guard let state = DeliveryState(rawValue: try row.integer(8)) else { throw row.damage(8) }
        self.init(
            id: try row.rowID(0), uuid: try row.text(1), type: try row.optionalText(2),
            subtype: try row.optionalText(3), environment: try row.text(4), targetKey: targetKey, state: state,
            attempts: try row.count(9), lastFailure: try row.optionalText(10),
            createdAt: try row.timestamp(11), nextAttempt: state == .waiting ? try row.timestamp(12) : nil)
    }
}

extension ForwardingTargetKey {
    /// SQL expression of the row id of a target, whose ``values`` are `$1` to `$3`.
    package static let id = "(SELECT id FROM addressee WHERE bundleId = $1 AND form = $2 AND url = $3)"

    package var values: [SQLValue] { [.text(bundleId.rawValue), .text(form), .text(url)] }

    fileprivate init?(_ row: some SQLRow, _ column: Int) throws(StorageError) {
        guard let bundleId = BundleIdentifier(rawValue: try row.text(column)) else { return nil }
        self.init(bundleId: bundleId, form: try row.text(column + 1), url: try row.text(column + 2))
    }
}
