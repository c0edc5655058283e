package import Base
import Foundation
import GRDB

/// The outbox of forwarded notifications: one row for each notification and target, inserted in the transaction that
/// stores the notification.
extension SQLiteStore: DeliveryOutbox {
    /// Creates the tables of the outbox.
    ///
    /// - `addressee`: a forwarding target (``ForwardingTargetKey``).
    /// - `delivery`: a notification to be sent to a target. `state` is a ``DeliveryState``; `queuedAt` changes when a
    ///   delivery is queued again, `createdAt` does not.
    /// - `unusualBody`: the received body of a notification that is not `{"signedPayload":"<text>"}`.
    static func addForwarding(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE addressee (
                    id INTEGER PRIMARY KEY, bundleId TEXT NOT NULL, form TEXT NOT NULL, url TEXT NOT NULL,
                    UNIQUE (bundleId, form, url));
                CREATE TABLE delivery (
                    id INTEGER PRIMARY KEY, addressee INTEGER NOT NULL REFERENCES addressee (id),
                    notification INTEGER NOT NULL REFERENCES notification (id) ON DELETE CASCADE,
                    state INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
                    bodiesSent INTEGER NOT NULL DEFAULT 0, createdAt INTEGER NOT NULL, queuedAt INTEGER NOT NULL,
                    nextAttempt INTEGER NOT NULL, lastFailure TEXT, UNIQUE (notification, addressee));
                CREATE INDEX deliveryDue ON delivery (addressee, nextAttempt, id) WHERE state = 0;
                CREATE INDEX deliveryDead ON delivery (id) WHERE state = 2;
                CREATE TABLE unusualBody (
                    notification INTEGER PRIMARY KEY REFERENCES notification (id) ON DELETE CASCADE,
                    body BLOB NOT NULL);
                """)
    }

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

    /// Adds the leases of deliveries, which are in flight until `leasedUntil` at most.
    static func addLeases(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE delivery ADD COLUMN leasedUntil INTEGER;
                ALTER TABLE delivery ADD COLUMN lessee TEXT;
                CREATE INDEX deliveryLeased ON delivery (addressee, leasedUntil) WHERE leasedUntil IS NOT NULL;
                """)
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

    private func hasDueDelivery(
        to targetKey: ForwardingTargetKey, at now: Timestamp
    ) async throws(StorageError) -> Bool {
        try await read { db in
            try db.exists(
                "SELECT 1 FROM delivery WHERE \(Self.isDue) LIMIT 1",
                Self.arguments(targetKey, at: now, takingOverUntil: now))
        }
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
        return try await read { db in try self.deliveries(ids, lease, in: db) }
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

    /// Returns leased deliveries, without those whose notification was deleted since.
    private func deliveries(_ ids: [Int64], _ lease: DeliveryLease, in db: Database) throws -> [StoredDelivery] {
        let rows = try ids.compactMap { id in
            try db.row(
                """
                SELECT delivery.id, app.bundleId, app.environment, notification.id, uuid, text, body,
                attempts, bodiesSent, queuedAt
                FROM delivery JOIN notification ON notification.id = delivery.notification
                JOIN app ON app.id = notification.app
                LEFT JOIN unusualBody ON unusualBody.notification = notification.id
                WHERE delivery.id = ?
                """, [id])
        }
        return try intact(rows) { row in
            guard let scope = try row.scope(1, 2) else { return nil }
            return StoredDelivery(
                id: try row.integer(0), scope: scope, notification: try row.integer(3), uuid: try row.text(4),
                text: try intact([row]) { try text($0, 5, in: db) }.first, rawBody: try row.optionalBytes(6),
                attempts: Int(try row.integer(7)), bodiesSent: Int(try row.integer(8)), queuedAt: try row.timestamp(9),
                lease: lease)
        }
    }

    package func renew(_ ids: Set<Int64>, for lease: DeliveryLease) async throws(StorageError) -> Set<Int64> {
        guard !ids.isEmpty else { return [] }
        return try await write { db in
            try ids.sorted().reduce(into: []) { renewed, id in
                try db.cachedStatement(
                    sql: "UPDATE delivery SET leasedUntil = ? WHERE id = ? AND lessee = ?"
                ).execute(arguments: [lease.until.milliseconds, id, lease.lessee])
                if db.changesCount > 0 { renewed.insert(id) }
            }
        }
    }

    // MARK: - For commands

    /// Queues deliveries again, with no attempts counted, and returns them in their new state.
    ///
    /// - Parameter url: only deliveries to this target. A notification is also queued for this target if it was not
    ///   addressed to it before, provided that the target belongs to the same app and has been used before.
    package func replay(
        _ replay: DeliveryReplay, to url: String? = nil, at now: Timestamp
    ) async throws(StorageError) -> [DeliverySummary] {
        try await write { db in
            var chosen: [Int64]
            let ofTarget = "AND (?1 IS NULL OR addressee IN (SELECT id FROM addressee WHERE url = ?1))"
            switch replay {
            case .allDead:
                chosen = try db.integers("SELECT id FROM delivery WHERE state = 2 \(ofTarget) ORDER BY id", [url])
            case .notification(let uuid):
                try db.execute(
                    sql: """
                        INSERT OR IGNORE INTO delivery (addressee, notification, createdAt, queuedAt, nextAttempt)
                        SELECT addressee.id, notification.id, ?3, ?3, ?3 FROM notification
                        JOIN app ON app.id = notification.app JOIN addressee ON addressee.bundleId = app.bundleId
                        WHERE uuid = ?2 AND version = 2 AND addressee.url = ?1
                        """, arguments: [url, uuid, now.milliseconds])
                chosen = try db.integers(
                    """
                    SELECT delivery.id FROM delivery JOIN notification ON notification.id = delivery.notification
                    WHERE uuid = ?2 \(ofTarget) ORDER BY delivery.id
                    """, [url, uuid])
            }
            for id in chosen {
                try db.cachedStatement(
                    sql: """
                        UPDATE delivery SET state = 0, attempts = 0, bodiesSent = 0, lastFailure = NULL, queuedAt = ?1,
                        nextAttempt = ?1 WHERE id = ?2
                        """
                ).execute(arguments: [now.milliseconds, id])
            }
            let summaries = DeliverySummary.statement(
                "\(Self.dialect.isAny("delivery.id", "$1")) ORDER BY delivery.id", .integers(chosen))
            return try self.rows(of: summaries, in: db).compactMap { try self.intact($0, DeliverySummary.init) }
        }
    }
}
