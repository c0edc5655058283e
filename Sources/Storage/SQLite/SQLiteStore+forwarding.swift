package import Base
import Foundation
import GRDB

/// The outbox of forwarded notifications: one row for each notification and target, inserted in the transaction that
/// stores the notification.
extension SQLiteStore: DeliveryOutbox {
    /// Inserts the deliveries of a notification. Runs in the transaction that stores the notification.
    static func enqueueDeliveries(
        of notification: NotificationRow, id: Int64, to targetKeys: [ForwardingTargetKey], in db: Database
    ) throws {
        for targetKey in targetKeys {
            try db.cachedStatement(
                sql: """
                    INSERT INTO delivery (addressee, notification, createdAt, queuedAt, nextAttempt)
                    VALUES (?1, ?2, ?3, ?3, ?3)
                    """
            ).execute(arguments: [
                try self.targetID(of: targetKey, in: db), id, notification.receivedAt.milliseconds,
            ])
        }
        guard !targetKeys.isEmpty, let body = notification.rawBody else { return }
        try db.cachedStatement(sql: "INSERT INTO unusualBody VALUES (?, ?)").execute(arguments: [id, Data(body)])
    }

    /// Returns the row id of a target. Inserts a missing row.
    private static func targetID(of targetKey: ForwardingTargetKey, in db: Database) throws -> Int64 {
        let arguments: StatementArguments = [targetKey.bundleId.rawValue, targetKey.form, targetKey.url]
        let existing = try db.integer(
            "SELECT id FROM addressee WHERE bundleId = ? AND form = ? AND url = ?", arguments)
        if let existing { return existing }
        try db.cachedStatement(sql: "INSERT INTO addressee (bundleId, form, url) VALUES (?, ?, ?)").execute(
            arguments: arguments)
        return db.lastInsertedRowID
    }

    /// Ends the leases of processes of this machine that no longer run, so that the next process does not wait for their
    /// end. Lessees of another form keep their leases.
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

    /// Number of due deliveries that are searched for those that may be sent. Many more than are claimed at once, because
    /// a customer can have several.
    private static let claimWindow = 256

    /// SQL condition of the deliveries to a target that are due and not leased. `?1` to `?3` identify the target, `?4`
    /// is the time, and `?5` the end of the leases that count no longer.
    private static let isDue = """
        addressee = (SELECT id FROM addressee WHERE bundleId = ?1 AND form = ?2 AND url = ?3)
        AND state = 0 AND nextAttempt <= ?4 AND (leasedUntil IS NULL OR leasedUntil <= ?5)
        """

    private static func arguments(
        _ targetKey: ForwardingTargetKey, at now: Timestamp, takingOverUntil end: Timestamp
    ) -> StatementArguments {
        [targetKey.bundleId.rawValue, targetKey.form, targetKey.url, now.milliseconds, end.milliseconds]
    }

    package func claim(
        to targetKey: ForwardingTargetKey, for lease: DeliveryLease, at now: Timestamp, takingOverUntil end: Timestamp,
        limit: Int
    ) async throws(StorageError) -> [StoredDelivery] {
        // The writer is needed only if there is something to claim.
        guard try await hasDueDelivery(to: targetKey, at: now) else { return [] }
        let window = max(Self.claimWindow, limit)
        let ids = try await write { db in
            let arguments = Self.arguments(targetKey, at: now, takingOverUntil: end)
            let ids = try Self.claimable(arguments, window: window, limit: limit, in: db)
            for id in ids {
                try db.cachedStatement(sql: "UPDATE delivery SET leasedUntil = ?, lessee = ? WHERE id = ?").execute(
                    arguments: [lease.until.milliseconds, lease.lessee, id])
            }
            return ids
        }
        return try await readIntact(
            SQLStatement(
                """
                SELECT \(StoredDelivery.columns) FROM delivery \(StoredDelivery.joins)
                WHERE \(dialect.isAny("delivery.id", "$1")) ORDER BY nextAttempt, delivery.id
                """, .integers(ids))
        ) { (row) throws(StorageError) in try self.delivery(row, for: lease) }
    }

    /// Returns the ids of the deliveries that may be leased now.
    private static func claimable(
        _ arguments: StatementArguments, window: Int, limit: Int, in db: Database
    ) throws -> [Int64] {
        let leased = try db.rows(
            """
            SELECT originalTransactionId FROM delivery
            JOIN notification ON notification.id = delivery.notification
            WHERE addressee = (SELECT id FROM addressee WHERE bundleId = ?1 AND form = ?2 AND url = ?3)
            AND leasedUntil > ?5 AND originalTransactionId IS NOT NULL
            """, arguments)
        let due = try db.rows(
            """
            SELECT delivery.id, originalTransactionId FROM delivery
            JOIN notification ON notification.id = delivery.notification
            WHERE \(isDue) ORDER BY nextAttempt, delivery.id LIMIT ?6
            """, arguments + [window])
        return ClaimSelection.ids(
            of: try intact(due) { DueDelivery(id: try $0.integer(0), subject: try $0.optionalText(1)) },
            leasedSubjects: Set(try intact(leased) { try $0.text(0) }), limit: limit)
    }
}
