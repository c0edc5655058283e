package import ReceiptBridgeBase

/// The outbox of forwarded notifications: one row for each notification and target, inserted in the transaction
/// that stores the notification.
///
/// Servers share the work by leases. Claims to one target wait for each other, because they lock the row of the target
/// first, so each sees the purchases that are in flight for the others. An outcome that arrives after the lease was
/// taken over is ignored by the lessee's name.
extension PostgreSQLStore: DeliveryOutbox {
    /// SQL condition of a delivery that is due and not leased. `$4` is the end of the leases that count no longer.
    private static let isDue = """
        state = 0 AND nextAttempt <= \(clock) AND NOT \(dialect.isLeased(after: "$4::bigint", at: clock))
        """

    package func claim(
        to targetKey: ForwardingTargetKey, for lease: DeliveryLease, at now: Timestamp, takingOverUntil end: Timestamp,
        limit: Int
    ) async throws(StorageError) -> DeliveryClaim {
        // A lock is a write, so it is taken only if there is something to claim.
        let (time, exists) = try await due(to: targetKey, at: now)
        guard exists else { return DeliveryClaim(time: time, deliveries: []) }
        let claimed = try await write([
            // This lock excludes other claims, but not the foreign keys of new deliveries.
            SQLStatement(
                "SELECT id FROM addressee WHERE bundleId = $1 AND form = $2 AND url = $3 FOR NO KEY UPDATE",
                targetKey.values),
            SQLStatement(
                Self.claimStatement,
                targetKey.values + [
                    SQLValue(end), .integer(lease.duration.inMilliseconds), .text(lease.lessee), .integer(Int64(limit)),
                    ClaimSelection.window(limit),
                ]),
        ]) { (index, row) throws(StorageError) in index == 0 ? nil : try self.claimed(row, for: lease, at: time) }
        return DeliveryClaim(time: time, deliveries: try await readable(claimed, for: lease))
    }

    /// Leases the deliveries that ``ClaimSelection`` selects, and returns them with their notifications. A row that
    /// another transaction changes at this moment is left to the next claim. A due delivery is replaced by the first
    /// one about the same purchase that was not attempted yet, which may be due later: the database's clock may have
    /// been set back.
    private static let claimStatement = """
        WITH due AS (
            SELECT id, addressee, subject, nextAttempt FROM delivery
            WHERE addressee = \(ForwardingTargetKey.id) AND \(isDue) AND NOT EXISTS (
                SELECT 1 FROM delivery AS other WHERE other.addressee = delivery.addressee
                AND other.subject = delivery.subject AND other.leasedUntil > $4::bigint AND other.leasedUntil > 0
                AND other.leasedUntil < \(clock) + 3600000)
            ORDER BY nextAttempt, id LIMIT $8::bigint),
        first AS (
            SELECT DISTINCT ON (coalesce('s' || due.subject, 'd' || due.id))
            coalesce(earliest.id, due.id) AS id, nextAttempt
            FROM due LEFT JOIN LATERAL (
                SELECT other.id FROM delivery AS other
                WHERE other.addressee = due.addressee AND other.subject = due.subject AND other.state = 0
                AND other.id <= due.id
                    AND (other.attempts = 0 AND \(dialect.isTime("other.nextAttempt")) OR other.id = due.id)
                ORDER BY other.id LIMIT 1) AS earliest ON true
            ORDER BY coalesce('s' || due.subject, 'd' || due.id), coalesce(earliest.id, due.id)),
        chosen AS (
            SELECT id FROM delivery
            WHERE id IN (SELECT id FROM first ORDER BY nextAttempt, id LIMIT $7::bigint) AND \(isDue)
            ORDER BY id FOR UPDATE SKIP LOCKED),
        claimed AS (
            UPDATE delivery SET leasedUntil = \(clock) + $5::bigint, lessee = $6::text FROM chosen
            WHERE delivery.id = chosen.id
            RETURNING delivery.*)
        SELECT \(StoredDelivery.columns) FROM claimed AS delivery \(StoredDelivery.joins)
        ORDER BY nextAttempt, delivery.id
        """
}
