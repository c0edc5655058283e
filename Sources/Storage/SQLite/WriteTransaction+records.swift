import Base
import GRDB

/// Inserts and updates of single records. The most recently signed version is stored.
extension WriteTransaction {
    /// Inserts a transaction, or replaces the stored version.
    func save(_ row: TransactionRow, as text: EncodedJWS, customer: Int64?, place: Int64, app: Int64) throws {
        try DirectStatement(db.cachedStatement(sql: Self.saveTransaction)).run(
            row.values(as: text, customer: customer, place: place, app: app))
    }

    private static let saveTransaction = """
        INSERT INTO transactionRecord (\(TransactionRow.names)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        \(TransactionRow.replacing)
        """

    /// Returns the position after all records of the customer, because a history is sorted by the last change.
    func nextPlace(of customer: Int64?) throws -> Int64 {
        guard let customer else { return 0 }
        let last = try statement("SELECT max(place) FROM transactionRecord WHERE customer = ?").firstRow(
            [.integer(customer)]
        ) { $0.integer(0) }
        return ((last ?? nil) ?? -1) + 1
    }

    /// Stores or deletes the revocation of a purchase, depending on the record.
    func updateRevocation(_ row: TransactionRow, app: Int64) throws {
        if let revocation = row.revocation {
            try statement(
                """
                INSERT OR REPLACE INTO revocation
                (app, transactionId, webOrderLineItemId, date, reason, signedDate, askedAt) VALUES (?, ?, ?, ?, ?, ?, ?)
                """
            ).run(revocation.values(app: app))
        } else {
            try statement(
                """
                DELETE FROM revocation WHERE transactionId = ? AND app = ? AND (askedAt IS NULL OR askedAt < ?)
                """
            ).run([
                .text(row.transactionId), .integer(app),
                SQLValue(row.signedDate.advanced(by: FactTime.clockDifference)),
            ])
        }
    }

    /// Stores the renewal info and the status of a notification if they are newer. Returns whether they are.
    func save(
        _ update: NotificationUpdate, as texts: EncodedNotification, app: Int64
    ) throws -> (renewal: Bool, status: Bool) {
        var isNew = (renewal: false, status: false)
        for row in SubscriptionColumns.rows(update, as: texts) {
            let stored = try statement(
                "SELECT renewalClock, statusClock FROM subscription WHERE originalTransactionId = ? AND app = ?"
            ).firstRow([.text(row.originalTransactionId), .integer(app)]) {
                (renewal: $0.integer(0), status: $0.integer(1))
            }
            // What a row has is newer than what is damaged or missing.
            let hasRenewal = row.renewalClock > stored?.renewal ?? SubscriptionColumns.noClock
            let hasStatus = row.statusClock > stored?.status ?? SubscriptionColumns.noClock
            guard hasRenewal || hasStatus else { continue }
            try DirectStatement(db.cachedStatement(sql: Self.saveSubscription)).run(row.values(app: app))
            isNew = (isNew.renewal || hasRenewal, isNew.status || hasStatus)
        }
        return isNew
    }

    private static let saveSubscription = """
        INSERT INTO subscription (\(SubscriptionColumns.names)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        \(SubscriptionColumns.update(.sqlite))
        """

    /// Marks the customer that has the identifier as stale.
    func markStale(customerOf identifier: String, app: Int64, since clock: Timestamp) throws {
        if let customer = try SQLiteStore.customer(of: identifier, app: app, in: db) {
            try markStale(customer, since: clock)
        }
    }

    /// Marks a customer as stale until a lookup that was signed later.
    func markStale(_ customer: Int64, since clock: Timestamp) throws {
        try db.cachedStatement(
            sql: "UPDATE customer SET needsLookupSince = max(coalesce(needsLookupSince, 0), ?) WHERE id = ?"
        ).execute(arguments: [clock.milliseconds, customer])
    }
}
