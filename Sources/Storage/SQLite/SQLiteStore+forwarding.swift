package import ReceiptBridgeBase
import Foundation
import GRDB

/// The outbox of forwarded notifications: one row for each notification and target, inserted in the transaction that
/// stores the notification.
extension SQLiteStore: DeliveryOutbox {
    /// Ends the leases of processes of this machine that no longer run, so that the next process does not wait for
    /// their end. Lessees of another form keep their leases.
    static func releaseLeasesOfEndedProcesses(_ db: Database) throws {
        let lessees = try db.rows(
            "SELECT DISTINCT lessee FROM delivery WHERE leasedUntil IS NOT NULL AND lessee IS NOT NULL")
        for lessee in try intact(lessees, { try $0.text(0) }) where hasEnded(lessee) {
            try db.execute(
                sql:
                    "UPDATE delivery SET leasedUntil = NULL, lessee = NULL WHERE leasedUntil IS NOT NULL AND lessee = ?",
                arguments: [lessee])
        }
    }

    static func hasLeases(_ db: Database) throws -> Bool {
        try db.exists("SELECT 1 FROM delivery WHERE leasedUntil IS NOT NULL LIMIT 1")
    }

    /// Returns whether a process of this machine has ended that began its lessees with ``DeliveryLease/process``.
    static func hasEnded(_ lessee: String) -> Bool {
        let parts = lessee.split(separator: "/")
        guard parts.count == 3, let process = pid_t(parts[0]), process > 0 else { return false }
        // An earlier process can have had the same id, in a container for example.
        if process == getpid() { return !lessee.hasPrefix(DeliveryLease.process) }
        return kill(process, 0) != 0 && errno == ESRCH
    }

    package func claim(
        to targetKey: ForwardingTargetKey, for lease: DeliveryLease, at now: Timestamp, takingOverUntil end: Timestamp,
        limit: Int
    ) async throws(StorageError) -> DeliveryClaim {
        // The writer is needed only if there is something to claim.
        guard try await due(to: targetKey, at: now).exists else { return DeliveryClaim(time: now, deliveries: []) }
        let isToTarget = "addressee = \(ForwardingTargetKey.id)"
        let leased = SQLStatement(
            """
            SELECT originalTransactionId FROM delivery JOIN notification ON notification.id = delivery.notification
            WHERE \(isToTarget) AND \(dialect.isLeased(after: "$4", at: "$5")) AND originalTransactionId IS NOT NULL
            """, targetKey.values + [SQLValue(end), SQLValue(now)])
        let due = SQLStatement(
            """
            SELECT delivery.id, originalTransactionId FROM delivery
            LEFT JOIN notification ON notification.id = delivery.notification
            WHERE \(isToTarget) AND state = 0 AND nextAttempt <= $4
                AND NOT \(dialect.isLeased(after: "$5", at: "$4"))
            ORDER BY nextAttempt, delivery.id LIMIT $6
            """, targetKey.values + [SQLValue(now), SQLValue(end), ClaimSelection.window(limit)])
        let ids = try await transaction(
            SQLStep<Row, [Int64]>.run([leased, due]) { (rows) throws(StorageError) in
                let subjects = try self.intact(rows[0]) { (row) throws(StorageError) in try row.text(0) }
                let due = try self.intact(rows[1]) { (row) throws(StorageError) in
                    DueDelivery(id: try row.rowID(0), subject: try row.optionalText(1))
                }
                let ids = ClaimSelection.ids(of: due, leasedSubjects: Set(subjects), limit: limit)
                let claim = SQLStatement(
                    "UPDATE delivery SET leasedUntil = $1, lessee = $2 WHERE \(Self.dialect.isAny("id", "$3"))",
                    SQLValue(now.advanced(by: lease.duration)), .text(lease.lessee), .integers(ids))
                return .end(ids, after: [claim])
            })
        let claimed = try await read(
            SQLStatement(
                """
                SELECT \(StoredDelivery.columns) FROM delivery \(StoredDelivery.joins)
                WHERE \(dialect.isAny("delivery.id", "$1")) ORDER BY nextAttempt, delivery.id
                """, .integers(ids))
        ) { (row) throws(StorageError) in try self.claimed(row, for: lease, at: now) }
        return DeliveryClaim(time: now, deliveries: try await readable(claimed, for: lease))
    }
}
