import Base
import GRDB

/// Inserts and updates of single records. The most recently signed version is stored.
extension SQLiteStore {
    /// Inserts a transaction, or replaces the stored version.
    static func save(
        _ row: TransactionRow, as text: EncodedJWS, customer: Int64?, place: Int64, app: Int64,
        in transaction: WriteTransaction
    ) throws {
        try DirectStatement(transaction.db.cachedStatement(sql: saveTransaction)).run(
            row.values(as: text, customer: customer, place: place, app: app))
    }

    private static let saveTransaction = """
        INSERT INTO transactionRecord (\(TransactionRow.names)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        \(TransactionRow.replacing)
        """

    /// Returns the position after all records of the customer, because a history is sorted by the last change.
    static func nextPlace(of customer: Int64?, in transaction: WriteTransaction) throws -> Int64 {
        guard let customer else { return 0 }
        let last = try transaction.statement("SELECT max(place) FROM transactionRecord WHERE customer = ?").firstRow(
            [.integer(customer)]
        ) { $0.integer(0) }
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
        ).run(revocation.values(app: app))
    }

    static func deleteRevocation(of transactionId: String, app: Int64, in transaction: WriteTransaction) throws {
        try transaction.statement("DELETE FROM revocation WHERE transactionId = ? AND app = ?").run([
            .text(transactionId), .integer(app),
        ])
    }

    /// Stores the renewal info and the status of a notification if they are newer. Returns whether they are.
    static func save(
        _ update: NotificationUpdate, as texts: EncodedNotification, app: Int64, in transaction: WriteTransaction
    ) throws -> (renewal: Bool, status: Bool) {
        var isNew = (renewal: false, status: false)
        for row in SubscriptionColumns.rows(update, as: texts) {
            let stored = try transaction.statement(
                "SELECT renewalClock, statusClock FROM subscription WHERE originalTransactionId = ? AND app = ?"
            ).firstRow([.text(row.originalTransactionId), .integer(app)]) {
                (renewal: $0.integer(0), status: $0.integer(1))
            }
            // What a row has is newer than what is damaged or missing.
            let hasRenewal = row.renewalClock > stored?.renewal ?? SubscriptionColumns.noClock
            let hasStatus = row.statusClock > stored?.status ?? SubscriptionColumns.noClock
            guard hasRenewal || hasStatus else { continue }
            try DirectStatement(transaction.db.cachedStatement(sql: saveSubscription)).run(row.values(app: app))
            isNew = (isNew.renewal || hasRenewal, isNew.status || hasStatus)
        }
        return isNew
    }

    private static let saveSubscription = """
        INSERT INTO subscription (\(SubscriptionColumns.names)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        \(SubscriptionColumns.update(.sqlite))
        """

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
