import Base
import GRDB

/// Inserts and updates of single records. The most recently signed version is stored.
extension SQLiteStore {
    /// Inserts a transaction, after all records of the customer.
    static func insert(
        _ row: TransactionRow, as text: EncodedJWS, customer: Int64?, app: Int64, in transaction: WriteTransaction
    ) throws {
        let place = try nextPlace(of: customer, in: transaction)
        try transaction.statement(
            """
            INSERT INTO transactionRecord
            (app, transactionId, originalTransactionId, appTransactionId, customer, place, signedDate, text,
                appAccountToken, expiresDate)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run {
            $0.bind(app)
            $0.bind(row.transactionId)
            $0.bind(row.originalTransactionId)
            $0.bind(row.appTransactionId)
            $0.bind(customer)
            $0.bind(place)
            $0.bind(row.signedDate.milliseconds)
            $0.bind(text)
            $0.bind(row.appAccountToken ?? "")
            $0.bind(row.expiresColumn)
        }
    }

    /// Replaces a transaction by a version that was signed later.
    static func update(
        _ row: TransactionRow, as text: EncodedJWS, id: Int64, customer: Int64?, place: Int64,
        in transaction: WriteTransaction
    ) throws {
        try transaction.statement(
            """
            UPDATE transactionRecord SET originalTransactionId = ?, appTransactionId = ?, customer = ?, place = ?,
            signedDate = ?, text = ?, appAccountToken = ?, expiresDate = ? WHERE id = ?
            """
        ).run {
            $0.bind(row.originalTransactionId)
            $0.bind(row.appTransactionId)
            $0.bind(customer)
            $0.bind(place)
            $0.bind(row.signedDate.milliseconds)
            $0.bind(text)
            $0.bind(row.appAccountToken ?? "")
            $0.bind(row.expiresColumn)
            $0.bind(id)
        }
    }

    /// Returns the position after all records of the customer, because a history is sorted by the last change.
    static func nextPlace(of customer: Int64?, in transaction: WriteTransaction) throws -> Int64 {
        guard let customer else { return 0 }
        let last = try transaction.statement("SELECT max(place) FROM transactionRecord WHERE customer = ?").firstRow {
            $0.bind(customer)
        } _: {
            $0.integer(0)
        }
        return ((last ?? nil) ?? -1) + 1
    }

    /// Stores or deletes the revocation of a purchase, depending on the record.
    static func updateRevocation(_ row: TransactionRow, app: Int64, in transaction: WriteTransaction) throws {
        if let revocation = row.revocation {
            try save(revocation, app: app, in: transaction)
        } else {
            try deleteRevocation(of: row.transactionId, app: app, in: transaction)
        }
    }

    /// Stores a revocation and replaces an earlier one of the same transaction.
    static func save(_ revocation: RevocationRow, app: Int64, in transaction: WriteTransaction) throws {
        try transaction.statement(
            """
            INSERT OR REPLACE INTO revocation (app, transactionId, webOrderLineItemId, date, reason, signedDate)
            VALUES (?, ?, ?, ?, ?, ?)
            """
        ).run {
            $0.bind(app)
            $0.bind(revocation.transactionId)
            $0.bind(revocation.webOrderLineItemId)
            $0.bind(revocation.date.milliseconds)
            $0.bind(revocation.reason)
            $0.bind(revocation.signedDate?.milliseconds)
        }
    }

    static func deleteRevocation(of transactionId: String, app: Int64, in transaction: WriteTransaction) throws {
        try transaction.statement("DELETE FROM revocation WHERE transactionId = ? AND app = ?").run {
            $0.bind(transactionId)
            $0.bind(app)
        }
    }

    // A clock that is damaged is a text or a blob, which SQLite sorts after all numbers, and is replaced.

    /// Stores the renewal info and the status of a notification if they are newer. Returns whether they are.
    static func save(
        _ update: NotificationUpdate, as texts: EncodedNotification, app: Int64, in transaction: WriteTransaction
    ) throws -> (renewal: Bool, status: Bool) {
        var isNew = (renewal: false, status: false)
        if let renewal = update.renewal, let text = texts.renewal {
            if let status = update.status, status.originalTransactionId == renewal.originalTransactionId,
                try save(renewal, as: text, status, app: app, in: transaction)
            {
                return (true, true)
            }
            isNew.renewal = try save(renewal, as: text, app: app, in: transaction)
        }
        if let status = update.status { isNew.status = try save(status, app: app, in: transaction) }
        return isNew
    }

    /// Stores renewal info and status of a subscription if both are newer, as they are in most notifications. If not,
    /// changes nothing and returns `false`.
    private static func save(
        _ renewal: RenewalRow, as text: EncodedJWS, _ status: StatusRow, app: Int64, in transaction: WriteTransaction
    ) throws -> Bool {
        try transaction.statement(
            """
            INSERT INTO subscription
            (app, originalTransactionId, place, status, statusClock, subscriptionGroupIdentifier, renewal, renewalClock)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (originalTransactionId, app) DO UPDATE SET
            status = excluded.status, statusClock = excluded.statusClock,
            subscriptionGroupIdentifier = coalesce(excluded.subscriptionGroupIdentifier, subscriptionGroupIdentifier),
            renewal = excluded.renewal, renewalClock = excluded.renewalClock
            WHERE (excluded.statusClock > statusClock OR statusClock >= '')
                AND (excluded.renewalClock > renewalClock OR renewalClock >= '')
            """
        ).run {
            $0.bind(app)
            $0.bind(renewal.originalTransactionId)
            $0.bind(SubscriptionColumns.lastPlace)
            $0.bind(Int64(status.status))
            $0.bind(status.clock.milliseconds)
            $0.bind(status.subscriptionGroupIdentifier)
            $0.bind(text)
            $0.bind(renewal.signedDate.milliseconds)
        } > 0
    }

    /// Stores renewal info if it is newer, and returns whether it is. An existing subscription keeps its position; a
    /// new one comes last.
    private static func save(
        _ renewal: RenewalRow, as text: EncodedJWS, app: Int64, in transaction: WriteTransaction
    ) throws -> Bool {
        try transaction.statement(
            """
            INSERT INTO subscription
            (app, originalTransactionId, place, statusClock, renewal, renewalClock) VALUES (?, ?, ?, -1, ?, ?)
            ON CONFLICT (originalTransactionId, app) DO UPDATE SET
            renewal = excluded.renewal, renewalClock = excluded.renewalClock
            WHERE excluded.renewalClock > renewalClock OR renewalClock >= ''
            """
        ).run {
            $0.bind(app)
            $0.bind(renewal.originalTransactionId)
            $0.bind(SubscriptionColumns.lastPlace)
            $0.bind(text)
            $0.bind(renewal.signedDate.milliseconds)
        } > 0
    }

    /// Stores the status of a subscription if it is newer, and returns whether it is. An existing subscription keeps
    /// its position; a new one comes last.
    private static func save(_ row: StatusRow, app: Int64, in transaction: WriteTransaction) throws -> Bool {
        try transaction.statement(
            """
            INSERT INTO subscription
            (app, originalTransactionId, place, status, statusClock, subscriptionGroupIdentifier, renewalClock)
            VALUES (?, ?, ?, ?, ?, ?, -1)
            ON CONFLICT (originalTransactionId, app) DO UPDATE SET
            status = excluded.status, statusClock = excluded.statusClock,
            subscriptionGroupIdentifier = coalesce(excluded.subscriptionGroupIdentifier, subscriptionGroupIdentifier)
            WHERE excluded.statusClock > statusClock OR statusClock >= ''
            """
        ).run {
            $0.bind(app)
            $0.bind(row.originalTransactionId)
            $0.bind(SubscriptionColumns.lastPlace)
            $0.bind(Int64(row.status))
            $0.bind(row.clock.milliseconds)
            $0.bind(row.subscriptionGroupIdentifier)
        } > 0
    }

    /// Marks the customers that have one of the identifiers as stale.
    static func markStale(
        customersOf identifiers: [String], app: Int64, since clock: Timestamp, in db: Database
    ) throws {
        for identifier in identifiers {
            if let customer = try customer(of: identifier, app: app, in: db) {
                try markStale(customer, since: clock, in: db)
            }
        }
    }

    /// Marks a customer as stale until a lookup that was signed later.
    static func markStale(_ customer: Int64, since clock: Timestamp, in db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE customer SET needsLookupSince = max(coalesce(needsLookupSince, 0), ?) WHERE id = ?"
        ).execute(arguments: [clock.milliseconds, customer])
    }

    /// Returns the customer with this transaction id or original transaction id, or `nil` if there is none.
    static func customer(of identifier: String, app: Int64, in db: Database) throws -> Int64? {
        for column in ["originalTransactionId", "transactionId"] {
            let rows = try db.rows(
                "SELECT customer FROM transactionRecord WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1",
                [identifier, app])
            if let found = try intact(rows, { try $0.integer(0) }).first { return found }
        }
        return nil
    }
}
