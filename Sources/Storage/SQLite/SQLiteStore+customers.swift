package import Base
import GRDB

extension SQLiteStore: CustomerStore, RevocationStore {
    /// Stores the complete history of one customer. Records that were signed later than the history's stay unchanged.
    @discardableResult
    package func save(
        _ customer: CustomerRow, of scope: AppScope, source: EventSource,
        reportingTo targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> Bool {
        let transactions = await encoder.encode(customer.transactions.map(\.text))
        let renewals = await encoder.encode(customer.renewals.map(\.text))
        return try await writeTransaction { [recordsEvents] transaction in
            let db = transaction.db
            let app = try transaction.appID(of: scope)
            let compares = recordsEvents || source == .reconcile
            var before = compares ? try Self.history(before: customer, app: app, in: db) : nil
            let id = try Self.customer(with: customer, app: app, in: db)
            for (position, (row, text)) in zip(customer.transactions, transactions).enumerated() {
                try Self.applyLookedUpTransaction(
                    row, as: text, customer: id, place: Int64(position), app: app, in: transaction)
            }
            // A record that is no longer in the history is detached from the customer, unless it was signed after the
            // history.
            let detached = try db.rows(
                """
                UPDATE transactionRecord SET customer = NULL, place = 0 WHERE customer = ? AND signedDate < ?
                AND transactionId NOT IN (SELECT value FROM json_each(?)) RETURNING transactionId
                """,
                [id, customer.signedDate.milliseconds, Self.list(customer.transactions.map(\.transactionId))])
            before?.detached = try Self.intact(detached) { try $0.text(0) }.sorted()
            for (position, row) in customer.statuses.enumerated() {
                try Self.save(row, place: position, app: app, in: transaction)
            }
            for (row, text) in zip(customer.renewals, renewals) {
                try Self.save(row, as: text, app: app, in: transaction)
            }
            for identifier in customer.aliases {
                try db.cachedStatement(sql: "INSERT OR IGNORE INTO companion VALUES (?, ?)").execute(
                    arguments: [id, identifier])
            }
            guard let before else { return false }
            let found = LookupEvents(
                customer, transactions: transactions, renewals: renewals, stored: before, source: source)
            if recordsEvents {
                try db.cachedStatement(
                    sql: "UPDATE customer SET eventKey = ?1 WHERE id = ?2 AND eventKey IS NOT ?1"
                ).execute(arguments: [found.key, id])
                try Self.insert(found.events, in: scope, transaction)
            }
            if !targetKeys.isEmpty {
                try Self.enqueue(found.reports(customer, in: scope), to: targetKeys, app: app, in: db)
            }
            return found.differs
        }
    }

    /// Returns the customer that has all these identifiers.
    ///
    /// - Returns: `nil` if the customer's complete history is not stored, or if the identifiers belong to more than
    ///   one customer or include an unknown purchase.
    package func customer(of keys: CustomerIdentifiers, in scope: AppScope) async throws(StorageError)
        -> StoredCustomer?
    {
        try await read { db in
            guard
                let app = try Self.existingAppID(of: scope, in: db),
                let id = try Self.customer(of: keys, app: app, in: db)
            else { return nil }
            return try self.customer(id, covering: keys, app: app, in: db)
        }
    }

    /// Stores revoked purchases, and deletes the revocations of purchases that are valid again. The customers of the
    /// latter are marked for a new lookup.
    package func save(
        revoked: [RevocationRow], valid: [String], of scope: AppScope
    ) async throws(StorageError) {
        try await writeTransaction { [recordsEvents] transaction in
            let db = transaction.db
            let app = try transaction.appID(of: scope)
            if recordsEvents { try Self.insertEvents(revoked: revoked, valid: valid, app: app, in: scope, db) }
            for row in revoked { try Self.save(row, app: app, in: transaction) }
            for id in valid {
                try Self.deleteRevocation(of: id, app: app, in: transaction)
                // The record may still say that the purchase is revoked. A lookup that was signed after the record
                // decides.
                try db.cachedStatement(
                    sql: """
                        UPDATE customer SET needsLookupSince = max(coalesce(needsLookupSince, 0), record.signedDate + 1)
                        FROM (SELECT customer, signedDate FROM transactionRecord WHERE transactionId = ? AND app = ?)
                        AS record WHERE customer.id = record.customer
                        """
                ).execute(arguments: [id, app])
            }
        }
    }

    // MARK: - Parts

    /// Returns the id of the customer that has these records, and updates its row. Inserts a customer if there is
    /// none. If several customers have some of the records, they are merged into one.
    private static func customer(with row: CustomerRow, app: Int64, in db: Database) throws -> Int64 {
        let records = try db.rows(
            """
            SELECT DISTINCT customer FROM transactionRecord
            WHERE app = ? AND customer IS NOT NULL AND transactionId IN (SELECT value FROM json_each(?))
            ORDER BY customer
            """, [app, list(row.transactions.map(\.transactionId))])
        let existing = try intact(records) { try $0.integer(0) }
        guard let id = existing.first else {
            try db.execute(
                sql: "INSERT INTO customer (app, askedAt, appAppleId, revision) VALUES (?, ?, ?, ?)",
                arguments: [app, row.askedAt.milliseconds, row.appAppleId, row.revision])
            return db.lastInsertedRowID
        }
        for other in existing.dropFirst() {
            try db.execute(
                sql: "UPDATE transactionRecord SET customer = ? WHERE customer = ?", arguments: [id, other])
            try db.execute(
                sql: "UPDATE OR IGNORE companion SET customer = ? WHERE customer = ?", arguments: [id, other])
            // If the other customer was stale, the merged one is.
            try db.execute(
                sql: """
                    UPDATE customer SET needsLookupSince = max(coalesce(needsLookupSince, since), since)
                    FROM (SELECT needsLookupSince AS since FROM customer WHERE id = ?2)
                    WHERE id = ?1 AND since IS NOT NULL
                    """, arguments: [id, other])
            try db.execute(sql: "DELETE FROM customer WHERE id = ?", arguments: [other])
        }
        // A damaged time is replaced. SQLite sorts text and blobs after all numbers.
        try db.execute(
            sql: """
                UPDATE customer SET askedAt = CASE WHEN askedAt > ?1 AND askedAt < '' THEN askedAt ELSE ?1 END,
                appAppleId = coalesce(?2, appAppleId), revision = ?3,
                needsLookupSince = CASE WHEN needsLookupSince > ?4 AND needsLookupSince < '' THEN needsLookupSince END
                WHERE id = ?5
                """,
            arguments: [
                row.askedAt.milliseconds, row.appAppleId, row.revision, row.signedDate.milliseconds, id,
            ])
        return id
    }

    private static func applyLookedUpTransaction(
        _ row: TransactionRow, as text: EncodedJWS, customer: Int64, place: Int64, app: Int64,
        in transaction: WriteTransaction
    ) throws {
        let db = transaction.db
        // A record whose date is damaged is replaced.
        let old = try db.row(
            "SELECT id, signedDate FROM transactionRecord WHERE transactionId = ? AND app = ?",
            [row.transactionId, app]
        ).map { (id: try $0.integer(0), signedDate: (try? $0.timestamp(1)) ?? Timestamp(milliseconds: 0)) }
        let change = RecordChange(lookedUp: row.signedDate, stored: old?.signedDate)
        guard let old else {
            try insert(row, as: text, customer: customer, place: place, app: app, in: transaction)
            try updateRevocation(row, app: app, in: transaction)
            return
        }
        guard change.isNew else {
            // A newer record arrived during the lookup. It belongs to the customer all the same.
            try db.cachedStatement(sql: "UPDATE transactionRecord SET customer = ? WHERE id = ?").execute(
                arguments: [customer, old.id])
            return
        }
        try update(row, as: text, id: old.id, customer: customer, place: place, in: transaction)
        try updateRevocation(row, app: app, in: transaction)
    }

    /// Returns the first customer that one of the identifiers leads to. Only the first eight of each kind are tried:
    /// a customer that none of them leads to is not stored, or is stored as several customers.
    private static func customer(of keys: CustomerIdentifiers, app: Int64, in db: Database) throws -> Int64? {
        for identifier in keys.originalTransactionIds.prefix(8) + keys.transactionIds.prefix(8) {
            if let id = try customer(of: identifier.rawValue, app: app, in: db) { return id }
        }
        return nil
    }

    /// Returns the customer with this id if it has all the identifiers, otherwise `nil`.
    private func customer(
        _ id: Int64, covering keys: CustomerIdentifiers, app: Int64, in db: Database
    ) throws -> StoredCustomer? {
        guard
            let row = try db.row(
                "SELECT askedAt, needsLookupSince, appAppleId, revision FROM customer WHERE id = ?", [id])
        else { return nil }
        var covered = Set(try db.texts("SELECT identifier FROM companion WHERE customer = ?", [id]))
        var transactions: [String] = []
        var revoked: Set<String> = []
        try db.forEachRow(
            """
            SELECT transactionId, originalTransactionId, text, EXISTS
            (SELECT 1 FROM revocation WHERE transactionId = record.transactionId AND app = ?1)
            FROM transactionRecord AS record WHERE customer = ?2 ORDER BY place, id
            """, [app, id]
        ) { record in
            covered.insert(try record.text(0))
            covered.insert(try record.text(1))
            transactions.append(try text(record, 2, in: db))
            if try record.boolean(3) { revoked.insert(try record.text(0)) }
        }
        guard (keys.originalTransactionIds + keys.transactionIds).allSatisfy({ covered.contains($0.rawValue) }) else {
            return nil
        }
        let subscriptions = try db.rows(
            """
            SELECT originalTransactionId, status, subscriptionGroupIdentifier, renewal FROM subscription
            WHERE app = ?1 AND status IS NOT NULL AND originalTransactionId IN
            (SELECT originalTransactionId FROM transactionRecord WHERE customer = ?2) ORDER BY place, id
            """, [app, id])
        return StoredCustomer(
            askedAt: try row.timestamp(0), needsLookup: !row.isNull(1), appAppleId: try row.optionalInteger(2),
            revision: try row.optionalText(3), transactions: transactions, revokedTransactionIds: revoked,
            subscriptions: try subscriptions.map {
                StoredCustomer.Subscription(
                    originalTransactionId: try $0.text(0), status: Int(try $0.integer(1)),
                    subscriptionGroupIdentifier: try $0.optionalText(2),
                    renewal: $0.isNull(3) ? nil : try text($0, 3, in: db))
            })
    }

    /// Returns a JSON array of strings. Identifiers have only digits or come from JSON strings; quotes and
    /// backslashes are removed, so that any text stays one string.
    static func list(_ identifiers: [String]) -> String {
        "[" + identifiers.map { "\"" + $0.filter { $0 != "\"" && $0 != "\\" } + "\"" }.joined(separator: ",") + "]"
    }
}
