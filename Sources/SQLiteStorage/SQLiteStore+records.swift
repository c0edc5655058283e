import Storage
import GRDB
import AppStoreTypes

/// Inserts and updates of single records. The most recently signed version is stored.
extension SQLiteStore {
    /// Inserts a transaction. Without `place` it comes after all records of the customer.
    static func insert(
        _ row: TransactionRow, as text: EncodedJWS, customer: Int64?, place: Int64? = nil, app: Int64,
        in db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO transactionRecord
                (app, transactionId, originalTransactionId, appTransactionId, customer, place, signedDate, text,
                    appAccountToken, expiresDate)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            app, row.transactionId, row.originalTransactionId, row.appTransactionId, customer,
            try place ?? nextPlace(of: customer, in: db), row.signedDate.milliseconds, text, row.appAccountToken ?? "",
            row.expiresColumn,
        ])
    }

    /// Replaces a transaction by a version that was signed later.
    static func update(
        _ row: TransactionRow, as text: EncodedJWS, id: Int64, customer: Int64?, place: Int64, in db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                UPDATE transactionRecord SET originalTransactionId = ?, appTransactionId = ?, customer = ?, place = ?,
                signedDate = ?, text = ?, appAccountToken = ?, expiresDate = ? WHERE id = ?
                """
        ).execute(arguments: [
            row.originalTransactionId, row.appTransactionId, customer, place, row.signedDate.milliseconds, text,
            row.appAccountToken ?? "", row.expiresColumn, id,
        ])
    }

    /// Returns the position after all records of the customer, because a history is sorted by the last change.
    static func nextPlace(of customer: Int64?, in db: Database) throws -> Int64 {
        guard let customer else { return 0 }
        let last = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT max(place) FROM transactionRecord WHERE customer = ?"),
            arguments: [customer])
        return (last ?? -1) + 1
    }

    /// Stores or deletes the revocation of a purchase, depending on the record.
    static func updateRevocation(_ row: TransactionRow, app: Int64, in db: Database) throws {
        if let revocation = row.revocation {
            try save(revocation, app: app, in: db)
        } else {
            try deleteRevocation(of: row.transactionId, app: app, in: db)
        }
    }

    /// Stores a revocation and replaces an earlier one of the same transaction.
    static func save(_ revocation: RevocationRow, app: Int64, in db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO revocation (app, transactionId, webOrderLineItemId, date, reason, "
                + "signedDate) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            app, revocation.transactionId, revocation.webOrderLineItemId, revocation.date.milliseconds,
            revocation.reason, revocation.signedDate?.milliseconds,
        ])
    }

    static func deleteRevocation(of transactionId: String, app: Int64, in db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM revocation WHERE transactionId = ? AND app = ?").execute(
            arguments: [transactionId, app])
    }

    /// Stores renewal info if it is newer, and returns whether it is. An existing subscription keeps its position; a new one comes last.
    @discardableResult
    static func save(_ renewal: RenewalRow, as text: EncodedJWS, app: Int64, in db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT INTO subscription
                (app, originalTransactionId, place, statusClock, renewal, renewalClock) VALUES (?, ?, ?, -1, ?, ?)
                ON CONFLICT (originalTransactionId, app) DO UPDATE SET
                renewal = excluded.renewal, renewalClock = excluded.renewalClock
                WHERE excluded.renewalClock > renewalClock
                """
        ).execute(arguments: [
            app, renewal.originalTransactionId, lastPlace, text, renewal.signedDate.milliseconds,
        ])
        return db.changesCount > 0
    }

    /// Stores the status of a subscription if it is newer, and returns whether it is.
    ///
    /// - Parameter place: position among the customer's subscriptions. If `nil`, an existing subscription keeps its
    ///   position and a new one comes last.
    @discardableResult
    static func save(_ row: StatusRow, place: Int?, app: Int64, in db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT INTO subscription
                (app, originalTransactionId, place, status, statusClock, subscriptionGroupIdentifier, renewalClock)
                VALUES (?, ?, ?, ?, ?, ?, -1)
                ON CONFLICT (originalTransactionId, app) DO UPDATE SET
                status = excluded.status, statusClock = excluded.statusClock,
                subscriptionGroupIdentifier =
                    coalesce(excluded.subscriptionGroupIdentifier, subscriptionGroupIdentifier)
                WHERE excluded.statusClock > statusClock
                """
        ).execute(arguments: [
            app, row.originalTransactionId, place ?? lastPlace, row.status, row.clock.milliseconds,
            row.subscriptionGroupIdentifier,
        ])
        let isNew = db.changesCount > 0
        guard let place else { return isNew }
        try db.cachedStatement(
            sql: "UPDATE subscription SET place = ? WHERE originalTransactionId = ? AND app = ? AND place <> ?"
        ).execute(arguments: [place, row.originalTransactionId, app, place])
        return isNew
    }

    /// Position of subscriptions that no lookup has returned yet: after all others.
    private static let lastPlace = 1_000_000

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
            let found = try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT customer FROM transactionRecord
                        WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1
                        """), arguments: [identifier, app])
            if let found { return found }
        }
        return nil
    }
}
