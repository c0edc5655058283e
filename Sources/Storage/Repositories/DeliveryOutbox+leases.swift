package import ReceiptBridgeBase

/// The parts of a claim that both engines share, and renewals of leases.
extension DeliveryOutbox {
    /// Returns the time, and whether a delivery to a target is due that is not leased.
    package func due(
        to targetKey: ForwardingTargetKey, at now: Timestamp
    ) async throws(StorageError) -> (time: Timestamp, exists: Bool) {
        try await read(
            SQLStatement(
                """
                SELECT clock.now, CASE WHEN EXISTS (
                    SELECT 1 FROM delivery WHERE addressee = \(ForwardingTargetKey.id) AND state = 0
                        AND nextAttempt <= clock.now AND NOT \(dialect.isLeased(after: "clock.now", at: "clock.now"))
                    ) THEN 1 ELSE 0 END
                FROM (SELECT \(dialect.now("$4")) AS now) AS clock
                """, targetKey.values + [SQLValue(now)])
        ) { (row) throws(StorageError) in
            (time: try row.timestamp(0), exists: try row.integer(1) != 0)
        }.first ?? (now, false)
    }

    /// Reads a row of ``StoredDelivery/columns``. What is damaged, or belongs to an app that no version writes, has
    /// only its id.
    package func claimed(
        _ row: Row, for lease: DeliveryLease, at time: Timestamp
    ) throws(StorageError) -> ClaimedDelivery {
        ClaimedDelivery(
            id: try row.rowID(0),
            delivery: try intact(row) { (row) throws(StorageError) in try delivery(row, for: lease, at: time) })
    }

    /// Returns the claimed deliveries that can be read, and abandons the others, so that they do not block later ones
    /// about the same purchase.
    package func readable(
        _ claimed: [ClaimedDelivery], for lease: DeliveryLease
    ) async throws(StorageError) -> [StoredDelivery] {
        let damaged = claimed.filter { $0.delivery == nil }.map(\.id)
        if !damaged.isEmpty {
            try await write([
                SQLStatement(
                    """
                    UPDATE delivery SET state = $1, attempts = 0, bodiesSent = 0, lastFailure = $2,
                        leasedUntil = \(dialect.noLease), lessee = NULL
                    WHERE \(dialect.isAny("id", "$3")) AND lessee = $4
                    """, .integer(DeliveryState.abandoned.rawValue), .text("store.damaged"), .integers(damaged),
                    .text(lease.lessee))
            ])
        }
        return claimed.compactMap(\.delivery)
    }

    private func delivery(
        _ row: Row, for lease: DeliveryLease, at time: Timestamp
    ) throws(StorageError) -> StoredDelivery? {
        guard let scope = try row.scope(1, 2) else { return nil }
        let queuedAt = try row.timestamp(9)
        return StoredDelivery(
            id: try row.rowID(0), scope: scope, notification: try row.rowID(3), uuid: try row.text(4),
            text: try intact(row) { (row) throws(StorageError) in try row.signedText(5) },
            rawBody: try row.optionalBytes(6), attempts: try row.count(7), bodiesSent: try row.count(8),
            queuedAt: queuedAt, age: queuedAt.duration(to: time), lessee: lease.lessee)
    }

    /// Extends the leases of deliveries that the lessee claimed, also those that ended if no other worker has claimed
    /// the delivery since. Returns the deliveries whose lease was extended, with its new end. The others may belong to
    /// another worker.
    package func renew(
        _ ids: Set<Int64>, for lease: DeliveryLease, at now: Timestamp
    ) async throws(StorageError) -> [Int64: Timestamp] {
        guard !ids.isEmpty else { return [:] }
        let renewed = try await write([
            SQLStatement(
                """
                UPDATE delivery SET leasedUntil = \(dialect.now("$4")) + $1 WHERE id IN (
                    SELECT id FROM delivery WHERE \(dialect.isAny("id", "$2")) AND lessee = $3
                    ORDER BY id \(dialect.locking))
                RETURNING id, leasedUntil
                """, .integer(lease.duration.inMilliseconds), .integers(ids.sorted()), .text(lease.lessee),
                SQLValue(now))
        ]) { (row) throws(StorageError) in (try row.rowID(0), try row.timestamp(1)) }
        return Dictionary(renewed) { first, _ in first }
    }

    /// Queues deliveries again, with no attempts counted, and returns them in their new state.
    ///
    /// - Parameter url: only deliveries to this target. A notification is also queued for this target if it was not
    ///   addressed to it before, provided that the target belongs to the same app and has been used before.
    /// A delivery can be attempted before it is returned.
    package func replay(
        _ replay: DeliveryReplay, to url: String?, at now: Timestamp
    ) async throws(StorageError) -> [DeliverySummary] {
        let (subject, value) = dialect.subject
        let (present, values): (String, [SQLValue]) = (dialect.now("$1"), [SQLValue(now), SQLValue(url)])
        let queue: (String, [SQLValue]) -> SQLStatement = { [dialect] condition, values in
            SQLStatement(
                """
                UPDATE delivery SET state = 0, attempts = 0, bodiesSent = 0, lastFailure = NULL,
                    queuedAt = \(present), nextAttempt = \(present)
                WHERE id IN (
                    SELECT id FROM delivery WHERE \(condition)
                        AND (addressee IN (SELECT id FROM addressee WHERE url = $2) OR $2 IS NULL)
                    ORDER BY id \(dialect.locking))
                RETURNING id
                """, values)
        }
        let statements =
            switch replay {
            case .allDead: [queue("state = 2", values)]
            case .notification(let uuid):
                [
                    SQLStatement(
                        """
                        INSERT INTO delivery (addressee, notification, createdAt, queuedAt, nextAttempt\(subject))
                        SELECT addressee.id, notification.id, \(present), \(present), \(present)\(value)
                        FROM notification JOIN app ON app.id = notification.app
                        JOIN addressee ON addressee.bundleId = app.bundleId
                        WHERE uuid = $3 AND version = 2 AND addressee.url = $2 ORDER BY addressee.id
                        ON CONFLICT (notification, addressee) DO NOTHING
                        """, values + [.text(uuid)]),
                    queue("notification = (SELECT id FROM notification WHERE uuid = $3)", values + [.text(uuid)]),
                ]
            }
        let ids = try await write(statements) { (row) throws(StorageError) in try row.rowID(0) }
        return try await readIntact(
            DeliverySummary.statement(
                "\(dialect.isAny("delivery.id", "$1")) ORDER BY delivery.id", .integers(ids)), DeliverySummary.init)
    }
}

/// A delivery that was claimed.
package struct ClaimedDelivery: Sendable {
    package let id: Int64
    /// `nil` if the row cannot be read.
    package let delivery: StoredDelivery?
}

extension StoredDelivery {
    package static let columns = """
        delivery.id, bundleId, environment, notification.id, uuid, text, body, attempts, bodiesSent, queuedAt
        """
    /// The tables of ``columns`` beside `delivery`. A delivery without a notification or an app cannot be read.
    package static let joins = """
        LEFT JOIN notification ON notification.id = delivery.notification
        LEFT JOIN app ON app.id = notification.app
        LEFT JOIN unusualBody ON unusualBody.notification = notification.id
        """
}
